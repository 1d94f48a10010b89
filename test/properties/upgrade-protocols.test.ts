/**
 * Whatever a client asks to upgrade to, only what a Kubernetes API server speaks comes to the pipeline; all
 * else is refused, so that not one byte of it goes on.
 */
import fc from 'fast-check';
import t from 'tap';
import { checkUpgradeHead } from '../../src/server/http1-head.ts';
import { listenFor, readAll } from '../support/server/listening.ts';

const KNOWN = new Set(['websocket', 'spdy/3.1']);

const token = fc
  .array(fc.constantFrom(..."abcdwebsocketSPDY0123./-_!#$%&'*+^`|~"), { minLength: 1, maxLength: 12 })
  .map((letters) => letters.join(''));
const tempting = fc.constantFrom(
  ...['h2c', 'h2', 'TLS/1.0', 'HTTP/2.0', 'spdy', 'spdy/3', 'spdy/3.10', 'websocket/13', 'websockets'],
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty', 'null', 'undefined'],
);
const protocol = fc.oneof(token, tempting).filter((name) => !KNOWN.has(name.toLowerCase()));

t.test('no other protocol passes the check of the head', async (t) => {
  const property = fc.property(protocol, (name) => {
    t.throws(() => checkUpgradeHead([['Upgrade', name]]), { code: 'RequestMalformed' });
  });
  t.doesNotThrow(() => fc.assert(property));
});

t.test('the two that are spoken pass it in any case', async (t) => {
  for (const name of ['websocket', 'WebSocket', 'SPDY/3.1', 'spdy/3.1'])
    t.doesNotThrow(() => checkUpgradeHead([['Upgrade', name]]));
});

t.test('no other protocol comes to the pipeline, whatever is sent behind the head', async (t) => {
  let served = 0;
  const listening = await listenFor(t, async () => {
    served += 1;
  });
  const property = fc.asyncProperty(
    protocol,
    fc.constantFrom('GET', 'POST', 'PATCH'),
    async (name, method) => {
      const socket = await listening.socket();
      const received = readAll(socket);
      socket.write(
        `${method} /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${name}\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n`,
      );
      const answers = (await received).match(/HTTP\/1\.1 \d+/g);
      return served === 0 && answers?.length === 1 && answers[0] === 'HTTP/1.1 400';
    },
  );
  await t.resolves(fc.assert(property, { numRuns: 40 }));
});

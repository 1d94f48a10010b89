/** An upgrade to a protocol that no Kubernetes API server speaks is refused. */
import fc from 'fast-check';
import t from 'tap';
import { checkUpgradeHead } from '../../src/server/http1-head.ts';

const KNOWN = new Set(['websocket', 'spdy/3.1']);

const token = fc
  .array(fc.constantFrom(..."abcdwebsocketSPDY0123./-_!#$%&'*+^`|~"), { minLength: 1, maxLength: 12 })
  .map((letters) => letters.join(''));
const tempting = fc.constantFrom(
  ...['h2c', 'h2', 'TLS/1.0', 'HTTP/2.0', 'spdy', 'spdy/3', 'spdy/3.10', 'websocket/13', 'websockets'],
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty', 'null', 'undefined'],
);
const protocol = fc.oneof(token, tempting).filter((name) => !KNOWN.has(name.toLowerCase()));

t.test('an upgrade to any other protocol is refused with a 400', async (t) => {
  const property = fc.property(protocol, (name) => {
    t.throws(() => checkUpgradeHead([['Upgrade', name]]), { code: 'RequestMalformed' });
  });
  t.doesNotThrow(() => fc.assert(property));
});

t.test('an upgrade to WebSocket or SPDY/3.1 is accepted in any letter case', async (t) => {
  for (const name of ['websocket', 'WebSocket', 'SPDY/3.1', 'spdy/3.1'])
    t.doesNotThrow(() => checkUpgradeHead([['Upgrade', name]]));
});

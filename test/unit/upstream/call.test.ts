/** What becomes of a request where something of our own breaks: it comes to an end all the same. */
import t from 'tap';
import { noTelemetry, type Telemetry } from '../../../src/lib/telemetry.ts';
import { callUpstream } from '../../../src/upstream/call.ts';
import type { CallResult } from '../../../src/upstream/call-request.ts';
import { type Connector, createConnector } from '../../../src/upstream/http1/connector.ts';
import { callContext } from '../../support/call-context.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { startRawServer } from '../../support/raw-http/raw-server.ts';

const clock = createFakeClock();
const server = await startRawServer();
const real = createConnector({ server: `http://127.0.0.1:${server.port}`, connectTimeout: 5_000 }, clock);
t.teardown(() => server.close());

function get(
  target: string,
  backendCall: Telemetry['backendCall'] = () => undefined,
  connector: Connector = real,
): Promise<CallResult> {
  const { context, pool } = callContext(server.url, { clock, connector });
  t.teardown(() => pool.destroy());
  return callUpstream(
    { ...context, telemetry: { ...noTelemetry, backendCall } },
    { account: { kind: 'stonegate' }, sender: { kind: 'stonegate' }, method: 'GET', target, headers: [] },
    {
      framing: 'none',
      discardable: true,
      cancellation: { cancelled: false, onCancel: () => undefined, offCancel: () => undefined },
    },
    { head: () => undefined, data: () => undefined, end: () => undefined, brokeOff: (result) => result },
  );
}

t.test('a request that fails and cannot be counted is refused', async (t) => {
  const refused = get('/', () => {
    throw new Error('cannot count');
  });
  const connection = await server.next('GET /');
  connection.send('garbage\r\n\r\n');
  await t.rejects(refused, { code: 'UpstreamUnavailable' });
});

t.test('a request whose connection is lost, and that cannot be sent again, is refused', async (t) => {
  let opened = 0;
  const refused = get('/', undefined, (onOpened) => {
    opened += 1;
    if (opened > 1) throw new Error('no more connections');
    return real(onOpened);
  });
  const connection = await server.next('GET /');
  connection.reset();
  await t.rejects(refused, { code: 'UpstreamUnavailable', cause: { message: 'no more connections' } });
});

t.test('a request that HTTP cannot say is counted by the time it took', async (t) => {
  const counted: unknown[] = [];
  await t.rejects(
    get('/ä', (...call) => counted.push(call)),
    { code: 'InvariantBroken' },
  );
  t.same(counted, [['upstream', 'error', 0]]);
});

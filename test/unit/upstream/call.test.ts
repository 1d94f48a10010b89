/** What becomes of a request where something of our own breaks: it comes to an end all the same. */
import t from 'tap';
import { type Connector, createConnector } from '../../../src/http1/connector.ts';
import { ConnectionPool } from '../../../src/http1/pool.ts';
import { InFlightCounter } from '../../../src/lib/in-flight.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { noTelemetry, type Telemetry } from '../../../src/lib/telemetry.ts';
import { callUpstream } from '../../../src/upstream/call.ts';
import type { CallResult } from '../../../src/upstream/call-request.ts';
import { ImpersonationRefusals } from '../../../src/upstream/impersonation-refusal.ts';
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
  const pool = new ConnectionPool({
    connector,
    maxConnections: 2,
    queueTimeout: 1_000,
    clock,
    onHandlerError: () => undefined,
  });
  t.teardown(() => pool.destroy());
  return callUpstream(
    {
      pool,
      authority: 'api',
      refusals: new ImpersonationRefusals({ ownName: undefined, clock, logger: silentLogger }),
      repeating: new InFlightCounter(),
      clock,
      logger: silentLogger,
      telemetry: { ...noTelemetry, backendCall },
    },
    {
      method: 'GET',
      target,
      headers: [],
      token: undefined,
      framing: 'none',
      discardable: true,
      repeatable: true,
      mayRefuseStonegate: false,
      refusalIsClients: false,
      cancellation: { cancelled: false, onCancel: () => undefined, offCancel: () => undefined },
    },
    { head: () => undefined, data: () => undefined, end: () => undefined, brokeOff: (result) => result },
  );
}

t.test('a request that fails and cannot be counted is refused', async (t) => {
  const refused = get('/', () => {
    throw new Error('cannot count');
  });
  const connection = await server.next();
  await connection.until('GET /');
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
  const connection = await server.next();
  await connection.until('GET /');
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

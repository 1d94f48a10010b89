/** The shared context of a call to the API server, for tests of one part: a single pool, and no queues. */
import { InFlightCounter } from '../../src/lib/in-flight.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import { TimeoutQueue } from '../../src/lib/timeout-queue.ts';
import { createAccountLimits } from '../../src/upstream/account-limits.ts';
import type { CallContext } from '../../src/upstream/call-request.ts';
import { DISCARD_TIMEOUT } from '../../src/upstream/call-state.ts';
import { createConnector } from '../../src/upstream/http1/connector.ts';
import { ConnectionPool } from '../../src/upstream/http1/pool.ts';
import { ImpersonationRefusals } from '../../src/upstream/impersonation-refusal.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';

export interface CallContextOptions {
  readonly clock?: FakeClock;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly maxConnections?: number;
}

export function callContext(
  server: string,
  { clock = createFakeClock(), timeout = 1_000, maxConnections = 2 }: CallContextOptions = {},
): { readonly context: CallContext; readonly pool: ConnectionPool } {
  const connection = { server, connectTimeout: 5_000 };
  const pool = new ConnectionPool({
    connector: createConnector(connection, clock),
    maxConnections,
    queueTimeout: timeout,
    clock,
    onHandlerError: () => undefined,
  });
  const pools = { short: pool, longRunning: pool, authority: 'api', connection, token: undefined };
  const context = {
    selectPools: () => pools,
    limits: createAccountLimits({
      clock,
      queueTimeout: timeout,
      sources: 1,
      tenantQueue: { requests: 0, bytes: 0 },
    }),
    responseTimeouts: new TimeoutQueue(clock, timeout),
    discardTimeouts: new TimeoutQueue(clock, DISCARD_TIMEOUT),
    refusals: new ImpersonationRefusals({ ownName: undefined, clock, logger: silentLogger }),
    unpooled: new InFlightCounter(),
    clock,
    logger: silentLogger,
    telemetry: noTelemetry,
  };
  return { context, pool };
}

/**
 * A pool of connections to a test's server, and requests for it.
 */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { type LogFields, silentLogger } from '../../../src/lib/logger.ts';
import type { ConnectionOptions } from '../../../src/http1/transport.ts';
import { ConnectionPool } from '../../../src/http1/pool.ts';
import { type Connector, createConnector } from '../../../src/http1/connector.ts';
import type { Framing } from '../../../src/upstream/header-rules.ts';
import { requestHead } from '../../../src/upstream/request-head.ts';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { Recorder } from './recorder.ts';

export interface TestPool {
  readonly pool: ConnectionPool;
  readonly clock: FakeClock;
  /** Every connection that was made, our end of it. */
  readonly sockets: readonly Socket[];
  /** What was logged as an error. */
  readonly faults: readonly unknown[];
  ask(request: Asked, on?: Recorder['on']): Recorder;
}

export interface Asked {
  /** Without it, GET. */
  readonly method?: string;
  readonly target: string;
  readonly framing?: Framing;
  readonly body?: Buffer | Readable;
}

export const CONNECT_TIMEOUT = 5_000;
/** How long a request waits for a connection to become free; another length than all others here. */
export const PATIENCE = 20_000;

export function createTestPool(
  connection: Omit<ConnectionOptions, 'connectTimeout'>,
  max = Number.POSITIVE_INFINITY,
): TestPool {
  const clock = createFakeClock();
  const connector = createConnector({ ...connection, connectTimeout: CONNECT_TIMEOUT }, clock);
  const sockets: Socket[] = [];
  const recording: Connector = (onOpened) =>
    connector((opened) => {
      if (!(opened instanceof Error)) sockets.push(opened);
      return onOpened(opened);
    });
  const faults: unknown[] = [];
  const logger = { ...silentLogger, error: ({ error }: LogFields) => void faults.push(error) };
  const pool = new ConnectionPool(recording, { max, patience: PATIENCE, clock, logger });
  return {
    pool,
    clock,
    sockets,
    faults,
    ask({ method = 'GET', target, framing = 'none', body }, on) {
      const recorder = new Recorder();
      if (on !== undefined) recorder.on = on;
      const head = requestHead(method, target, 'api', [], undefined, framing);
      const request = { method, head, framing, ...(body && { body }) };
      recorder.errand = pool.send(request, recorder);
      return recorder;
    },
  };
}

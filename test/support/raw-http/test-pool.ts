/** A pool of connections to the server of a test, and requests for it. */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import {
  type ConnectOptions,
  type Connector,
  createConnector,
} from '../../../src/upstream/http1/connector.ts';
import { ConnectionPool } from '../../../src/upstream/http1/pool.ts';
import { createHeadSerializer, type RequestFraming } from '../../../src/upstream/http1/serializer.ts';
import { createFakeClock } from '../fake-clock.ts';
import { Recorder } from './recorder.ts';

export type TestPool = ReturnType<typeof createTestPool>;

export interface Asked {
  /** By default GET. */
  readonly method?: string;
  readonly target: string;
  readonly framing?: RequestFraming;
  readonly body?: Buffer | Readable;
}

export const CONNECT_TIMEOUT = 5_000;
/** How long a request waits for a free connection; different from all other timeouts here. */
export const QUEUE_TIMEOUT = 20_000;

const serialize = createHeadSerializer(() => true);

export function createTestPool(
  connection: Omit<ConnectOptions, 'connectTimeout'>,
  max = Number.POSITIVE_INFINITY,
) {
  const clock = createFakeClock();
  const connector = createConnector({ ...connection, connectTimeout: CONNECT_TIMEOUT }, clock);
  const sockets: Socket[] = [];
  const recording: Connector = (onResult) =>
    connector((result) => {
      if (!(result instanceof Error)) sockets.push(result);
      return onResult(result);
    });
  const pool = new ConnectionPool({
    connector: recording,
    clock,
    maxConnections: max,
    queueTimeout: QUEUE_TIMEOUT,
    onHandlerError: () => undefined,
  });
  return {
    pool,
    clock,
    /** Our end of every connection that was made. */
    sockets,
    ask({ method = 'GET', target, framing = 'none', body }: Asked, on?: Recorder['on']) {
      const recorder = new Recorder();
      if (on !== undefined) recorder.on = on;
      const head = serialize(method, target, 'api', [], undefined, framing);
      const request = { method, head, framing, ...(body && { body }) };
      recorder.pending = pool.send(request, recorder);
      return recorder;
    },
  };
}

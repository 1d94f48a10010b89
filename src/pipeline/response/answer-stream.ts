/**
 * A response of Stonegate's own without an end (a watch), written event by event. A client that reads too
 * slowly is disconnected, so that no event waits for it in memory.
 */
import { fromAbortSignal } from '../../lib/cancellation.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import type { RelayHooks, RelayResult } from '../ports.ts';
import type { Outgoing } from '../request-context.ts';

/** The client's end of a streamed answer. */
export interface AnswerStream {
  /** True once the client is gone or the response has ended: nothing more is written. */
  readonly closed: boolean;
  /** @param text one or more whole events */
  write(text: string): void;
  /** Ends the response cleanly, so that a client watches on. */
  end(): void;
}

export interface StreamedAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  /** For the audit log only. */
  readonly annotations?: Readonly<Record<string, string>>;
  /**
   * Called once, after the head is sent.
   *
   * @returns called once when the stream has ended, for whatever reason
   */
  start(stream: AnswerStream): () => void;
  /**
   * The last event if Stonegate ends the stream because the user's access has ended or may have changed: it
   * says that the client cannot go on from what it has.
   */
  readonly expired?: () => string;
}

/** Bytes that may wait for a slow client. */
const MAX_WAITING = 4 * 1024 * 1024;

/**
 * Resolves when the stream has ended: by `end`, by its client, by the end of the user's access, or because
 * the server stops.
 */
export function writeStream(
  { exchange, auditID, stream: opened }: Outgoing,
  { status, headers, annotations, start, expired }: StreamedAnswer,
  hooks: RelayHooks | undefined,
): Promise<RelayResult> {
  const { response, stopping } = exchange;
  const result = { status, ...(annotations && { annotations }) };
  if (response.closed) return Promise.resolve({ ...result, aborted: true });
  response.writeHead(status, [...headers, ['Audit-Id', auditID]]);
  hooks?.onHead(status);
  return new Promise((resolve, reject) => {
    const client = exchange.cancellation ?? fromAbortSignal(exchange.signal);
    const ends = [client, ...(opened ? [opened] : []), ...(stopping ? [fromAbortSignal(stopping)] : [])];
    let isOver = false;
    let waiting = 0;
    let stop = () => {};

    function finish(aborted: boolean): void {
      if (isOver) return;
      isOver = true;
      for (const cancellation of ends) cancellation.offCancel(onCancel);
      if (!response.closed) {
        if (aborted) response.destroy();
        else response.end();
      }
      stop();
      resolve({ ...result, aborted });
    }

    const onCancel = () => {
      const isExpired = opened?.cancelled === true && !client.cancelled && !isOver && !response.closed;
      if (isExpired && expired !== undefined) response.write(Buffer.from(expired()));
      finish(client.cancelled);
    };
    const stream: AnswerStream = {
      get closed() {
        return isOver;
      },
      write(text) {
        if (isOver) return;
        if (response.closed) return finish(true);
        const bytes = Buffer.from(text);
        if (response.write(bytes)) return;
        if (waiting === 0)
          response.onDrain(() => {
            waiting = 0;
          });
        waiting += bytes.length;
        if (waiting > MAX_WAITING) finish(true);
      },
      end: () => finish(false),
    };
    for (const cancellation of ends) cancellation.onCancel(onCancel);
    try {
      const stopped = start(stream);
      if (isOver) stopped();
      else stop = stopped;
    } catch (error) {
      // The head is sent: the caller reports the error, and the client sees the response break off.
      reject(error);
      finish(true);
    }
    if (ends.some(({ cancelled }) => cancelled)) onCancel();
  });
}

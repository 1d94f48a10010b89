/**
 * What a call to the API server consists of: the request and the receiver of its response.
 */
import type { Readable } from 'node:stream';
import { STREAM_WINDOW } from '../api/memory-bounds.ts';
import type { BorrowedChunk } from '../http1/borrowed-chunk.ts';
import type { InactivityTimers } from '../http1/inactivity-timer.ts';
import type { RequestFraming } from '../http1/serializer.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { HeaderField, HeaderList } from '../lib/header-list.ts';
import type { Semaphore } from '../lib/semaphore.ts';

/** What a call waits for before it is sent. */
export interface Limiter
  extends Pick<Semaphore, 'tryAcquire' | 'enqueue' | 'queueFull' | 'release' | 'releaseDelayed'> {
  /** The response's head has arrived; its body may take long, if the client reads it slowly. */
  onResponse?(): void;
}

export interface CallRequest {
  readonly method: string;
  readonly target: string;
  /** Complete except for the credential and the framing fields. */
  readonly headers: HeaderList;
  /** The sender's; undefined if Stonegate authenticates by its client certificate. */
  readonly token: string | undefined;
  readonly framing: RequestFraming;
  /** Complete, or a function that creates it when it is sent. Absent if the framing is `none`. */
  readonly body?: Buffer | ((onError: (error: Error) => void) => Readable) | undefined;
  /** Of the account; the request waits there before it may take a connection. */
  readonly limiter?: Limiter | undefined;
  /** What the permit limits: connections in use, or how many long-running requests begin. */
  readonly limits: 'connection' | 'opening';
  /** Whether a cancelled request may run to its end, its response discarded: only if it changes nothing. */
  readonly discardable: boolean;
  /** Whether a 401 concerns the client: a workload responded, or the client's own token was refused. */
  readonly refusalIsClients: boolean;
  /** Limits the time until the response's head, and between its chunks; no limit if undefined. */
  readonly timeouts?: InactivityTimers | undefined;
  /** It repeats an earlier request: connection pools that are closing still accept it. */
  readonly alreadyAccepted?: boolean;
  /** The client's. */
  readonly cancellation: Cancellation;
}

export interface Flow {
  pause(): void;
  resume(): void;
}

/** Receives the response. If a method throws, the call fails. */
export interface ResponseSink {
  head(status: number, headers: HeaderField[], flow: Flow): void;
  data(chunk: BorrowedChunk): void;
  end(): void;
  /**
   * The response broke off, or the client cancelled before there was one. If it throws, the call fails with
   * that.
   *
   * @returns the result of the call
   */
  brokeOff(result: CallResult): CallResult;
}

export interface CallResult {
  /** 0 if the client cancelled before there was a response. */
  readonly status: number;
  readonly aborted: boolean;
}

/** Of a request's objects and its connection to the client, roughly. */
const REQUEST_BYTES = 8 * 1024;

/** The memory that a waiting request uses: its head, and its body as far as it is or may arrive unread. */
export function heldBytes({
  method,
  target,
  headers,
  framing = 'none',
  body,
}: Pick<CallRequest, 'method' | 'target' | 'headers'> &
  Partial<Pick<CallRequest, 'framing' | 'body'>>): number {
  let bytes = REQUEST_BYTES + method.length + target.length;
  for (const [name, value] of headers) bytes += name.length + value.length;
  if (Buffer.isBuffer(body)) return bytes + body.length;
  if (framing === 'none') return bytes;
  return bytes + (framing === 'chunked' ? STREAM_WINDOW : Math.min(framing, STREAM_WINDOW));
}

/**
 * What a call to the API server consists of: the request and the receiver of its response.
 */
import type { Readable } from 'node:stream';
import type { BorrowedChunk } from '../http1/borrowed-chunk.ts';
import type { InactivityTimers } from '../http1/inactivity-timer.ts';
import type { RequestFraming } from '../http1/serializer.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { HeaderField, HeaderList } from '../lib/header-list.ts';
import type { Semaphore } from '../lib/semaphore.ts';
import type { UpstreamRequest } from '../pipeline/ports.ts';

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
  /** Limits how many long-running requests of the account begin. */
  readonly openings?: Semaphore | undefined;
  /** A permit of the account is held as long as the request has a connection. */
  readonly connections?: Semaphore | undefined;
  /** Whether a cancelled request may run to its end, its response discarded: only if it changes nothing. */
  readonly discardable: boolean;
  /** Whether the request may be sent again: it changes nothing, and has no body. */
  readonly repeatable: boolean;
  /** Whether a 401 concerns the client: a workload responded, or the client's own token was refused. */
  readonly refusalIsClients: boolean;
  /** Whether a 403 may concern Stonegate's own rights: the API server itself responds to its credential. */
  readonly mayRefuseStonegate: boolean;
  /** As in `UpstreamRequest`. */
  readonly onForbidden?: UpstreamRequest['onForbidden'] | undefined;
  readonly onCreated?: UpstreamRequest['onCreated'] | undefined;
  /** Limits the time until the response's head, and between its chunks; no limit if undefined. */
  readonly timeouts?: InactivityTimers | undefined;
  /** The client's. */
  readonly cancellation: Cancellation;
}

/** Whether the method changes nothing; OPTIONS is sent by browsers only. */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
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
   * The response broke off, or the request was cancelled before there was one. If it throws, the call fails
   * with that.
   *
   * @returns the result of the call
   */
  brokeOff(result: CallResult): CallResult;
}

export interface CallResult {
  /** As the API server sent it; 0 if nothing was passed on. */
  readonly status: number;
  readonly aborted: boolean;
}

/**
 * Bytes of a body that the listener accepts from the client before they are read: the window of an HTTP/2
 * stream.
 */
const READ_AHEAD = 256 * 1024;
/** Of a request's objects and its connection to the client, roughly. */
const REQUEST_BYTES = 8 * 1024;

/** The memory that a waiting request uses: its head, and its body as far as it is or may arrive unread. */
export function heldBytes({ method, target, headers, framing, body }: CallRequest): number {
  let bytes = REQUEST_BYTES + method.length + target.length;
  for (const [name, value] of headers) bytes += name.length + value.length;
  if (Buffer.isBuffer(body)) return bytes + body.length;
  if (framing === 'none') return bytes;
  return bytes + (framing === 'chunked' ? READ_AHEAD : Math.min(framing, READ_AHEAD));
}

/**
 * What a call to the API server consists of: the request, how it is sent, the receiver of its response, and
 * what it shares with other calls.
 */

import type { Readable } from 'node:stream';
import type { UpstreamRequest } from '../kubernetes/upstream-ports.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type { InFlightCounter } from '../lib/in-flight.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { TimeoutQueue } from '../lib/timeout-queue.ts';
import { STREAM_WINDOW } from '../limits/memory-bounds.ts';
import type { AccountLimits } from './account-limits.ts';
import type { SelectPools } from './connection-pools.ts';
import type { BorrowedChunk } from './http1/borrowed-chunk.ts';
import type { ResponseHandler, WireRequest } from './http1/connection.ts';
import type { PendingRequest } from './http1/pending-request.ts';
import type { RequestFraming } from './http1/serializer.ts';
import type { ImpersonationRefusals } from './impersonation-refusal.ts';

/** The headers are complete except for the credential and the framing fields. */
export type CallRequest = Pick<UpstreamRequest, 'account' | 'sender' | 'method' | 'target' | 'headers'> &
  Partial<
    Pick<UpstreamRequest, 'longRunning' | 'proxied' | 'servedByAPIServer' | 'onForbidden' | 'onCreated'>
  > & {
    /** Whether it is a part of a watch that was admitted whole. */
    readonly isAdmitted?: boolean;
  };

export type SentRequest = Pick<PendingRequest, 'wasSent' | 'cancel' | 'pause' | 'resume'>;

export interface Sending {
  readonly framing: RequestFraming;
  /** Complete, or a function that creates it when it is sent. Absent if the framing is `none`. */
  readonly body?: Buffer | ((onError: (error: Error) => void) => Readable) | undefined;
  /** Sends an upgrade request, in place of a pool. */
  readonly upgrade?: { send(request: WireRequest, handler: ResponseHandler): SentRequest };
  /** The client's. */
  readonly cancellation: Cancellation;
  /** Whether a cancelled request may run to its end, its response discarded: only if it changes nothing. */
  readonly discardable: boolean;
}

export interface CallContext extends Pick<Runtime, 'clock' | 'logger' | 'telemetry'> {
  readonly selectPools: SelectPools;
  readonly limits: AccountLimits;
  /** Limits the time until a response's head, and between its chunks; not for long-running requests. */
  readonly responseTimeouts: TimeoutQueue;
  /** Limits the time to read the response to a cancelled request. */
  readonly discardTimeouts: TimeoutQueue;
  readonly refusals: ImpersonationRefusals;
  /** Counts requests that no pool knows of: tunnels, and what is repeated after a pause. */
  readonly unpooled: InFlightCounter;
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
  /** The status as the API server sent it; 0 if nothing was passed on. */
  readonly status: number;
  readonly aborted: boolean;
}

/** Bytes of a request's objects and its connection to the client, roughly. */
const REQUEST_BYTES = 8 * 1024;

/** The memory that a waiting request uses: its head, and its body as far as it is or may arrive unread. */
export function heldBytes({ method, target, headers }: CallRequest, { framing, body }: Sending): number {
  let bytes = REQUEST_BYTES + method.length + target.length;
  for (const [name, value] of headers) bytes += name.length + value.length;
  if (Buffer.isBuffer(body)) return bytes + body.length;
  if (framing === 'none') return bytes;
  return bytes + (framing === 'chunked' ? STREAM_WINDOW : Math.min(framing, STREAM_WINDOW));
}

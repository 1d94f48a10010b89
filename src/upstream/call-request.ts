/**
 * What a call asks of the API server, for whom, and with how much patience.
 */
import type { Readable } from 'node:stream';
import type { Cancellation } from '../lib/cancellation.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { IdleTimers } from './idle-timer.ts';
import type { KeyLimiter } from './key-limiter.ts';
import type { Framing } from './outgoing-headers.ts';

export interface CallRequest {
  readonly method: string;
  readonly target: string;
  /** Complete but for the credential and framing. */
  readonly headers: HeaderList;
  /** The sender's; undefined where our client certificate speaks for us. */
  readonly token: string | undefined;
  readonly framing: Framing;
  /** At hand, or made when it is needed, given what to tell when it cannot go on. Absent where the framing is `none`. */
  readonly body?: Buffer | ((onFault: (fault: Error) => void) => Readable) | undefined;
  /** Of the account: the request waits there before it may take a connection. */
  readonly limiter?: KeyLimiter | undefined;
  /** What it takes of the limiter: a slot until its connection is free again, or one opening. */
  readonly limits: 'connection' | 'opening';
  /** Whether a cancelled request may go on, its response unread: one that changes nothing and ends by itself. */
  readonly discardable: boolean;
  /** Whether a 401 is the client's own: a workload answers, or the client's token was refused. */
  readonly refusalIsTheirs: boolean;
  /** For the answer's head, and between its chunks; without it there is no limit. */
  readonly patience?: IdleTimers | undefined;
  /** It repeats a request of before: then it is nothing new to connections that are being closed. */
  readonly takenOn?: boolean;
  /** Who wants the answer. */
  readonly cancellation: Cancellation;
}

/** Bytes of a body that the listener takes from the client before they are read: the window of an HTTP/2 stream. */
const BODY_AHEAD = 256 * 1024;
/** Of the objects that stand for a request, and of its connection to the client, roughly. */
const REQUEST_BYTES = 8 * 1024;

/** What a request that waits keeps in memory: its head, and as much of its body as is here or may arrive unread. */
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
  return bytes + (framing === 'chunked' ? BODY_AHEAD : Math.min(framing, BODY_AHEAD));
}

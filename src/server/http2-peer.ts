/**
 * What all requests of an HTTP/2 connection have in common.
 */
import type { ServerHttp2Session } from 'node:http2';
import type { ClientCertificate } from '../api/credentials.ts';
import type { TimeoutQueue } from '../lib/timeout-queue.ts';
import type { SessionWatch } from './http2-watch.ts';
import type { ServeContext } from './serve-context.ts';

export interface Http2Peer {
  readonly session: ServerHttp2Session;
  readonly peerAddress: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
  /** In which its answers are looked at that their client may not be taking. */
  readonly stallQueue: TimeoutQueue;
  readonly watch: SessionWatch;
  readonly context: ServeContext;
}

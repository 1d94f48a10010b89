/**
 * What all requests of an HTTP/2 connection have in common.
 */
import type { ServerHttp2Session } from 'node:http2';
import type { ClientCertificate } from '../api/client-certificate.ts';
import type { SessionWatch } from './http2-watch.ts';
import type { ServeContext } from './serve-context.ts';
import type { StallGuards } from './stall-guard.ts';

export interface Http2Peer {
  readonly session: ServerHttp2Session;
  readonly peerAddress: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
  readonly guards: StallGuards;
  readonly watch: SessionWatch;
  readonly context: ServeContext;
}

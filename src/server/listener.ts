/**
 * The listener for clients: TLS, HTTP/1.1 and HTTP/2 on one port by ALPN. One `https.Server` accepts;
 * connections that chose `h2` are taken from it after the handshake, all others stay with Node's HTTP/1
 * server.
 * RFC 7301 (ALPN), RFC 9113 §3.2.
 */

import type { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { CancellationSource } from '../lib/cancellation.ts';
import type { Exchange } from '../lib/exchange.ts';
import { defineGauge, OPEN } from '../lib/metric.ts';
import type { Runtime } from '../lib/runtime.ts';
import { TimeoutQueue } from '../lib/timeout-queue.ts';
import { type ClientCertificates, createClientCertificates } from './client-certificates.ts';
import { serveHttp1 } from './http1.ts';
import { MAX_FIELDS } from './http1-head.ts';
import { sendGoAway, serveHttp2 } from './http2.ts';
import { listen } from './listen.ts';
import type { ListenerTimeouts, ServeContext } from './serve-context.ts';
import {
  certificateRequest,
  clientAuthorities,
  secureContextOptions,
  type TLSMaterial,
} from './tls-material.ts';
import { UnfinishedHeads } from './unfinished-heads.ts';

export const CONNECTIONS_OPEN = defineGauge({
  name: 'stonegate_connections_open',
  help: 'Open connections of clients, by listener.',
  labels: { listener: OPEN },
  aggregator: 'sum',
});

export interface ListenerOptions extends Pick<Runtime, 'clock' | 'logger' | 'random'> {
  /** `host:port`. */
  readonly bind: string;
  readonly tls: TLSMaterial;
  readonly http2: boolean;
  readonly timeouts: ListenerTimeouts;
  readonly limits: { readonly headerBytes: number };
  readonly serve: (exchange: Exchange) => Promise<void>;
}

export interface Listener {
  readonly address: AddressInfo;
  /** The number of open connections. */
  readonly activeConnections: number;
  /**
   * Prepares new TLS material. When it is applied, new connections use it. Open connections keep theirs; if
   * the authorities for client certificates are others, those with a client certificate are closed.
   *
   * @returns applies the material; never throws
   * @throws Error if the material cannot be used; the current one stays
   */
  prepareTLS(material: TLSMaterial): () => void;
  /**
   * Asks clients to open their next connection elsewhere: each response over HTTP/1.1 closes its connection,
   * and each HTTP/2 session gets a GOAWAY. New connections and requests are still served.
   */
  drain(): void;
  /**
   * Stops accepting, waits for pending responses, then closes the remaining connections.
   *
   * @param grace milliseconds until open connections are closed
   */
  close(grace: number): Promise<void>;
}

/** @throws Error if the address is in use or the certificate cannot be used */
export async function createListener(options: ListenerOptions): Promise<Listener> {
  const draining = new CancellationSource();
  const stopping = new CancellationSource();
  const authorities = clientAuthorities(options.tls);
  const certificates =
    authorities === undefined ? undefined : createClientCertificates({ ...options, authorities });
  const isCredential = options.tls.credentialCA !== undefined;
  const context: ServeContext = {
    ...options,
    certificateOf: (socket) => (isCredential ? certificates?.certificateOf(socket) : undefined),
    headerBytes: options.limits.headerBytes,
    idleQueue: new TimeoutQueue(options.clock, options.timeouts.idle),
    stallQueue: new TimeoutQueue(options.clock, options.timeouts.stall),
    draining,
    stopping,
    heads: new UnfinishedHeads(options),
  };
  const server = createTLSServer(options);
  serveHttp1(server, context);
  const sessions = serveHttp2Connections(server, context);
  if (certificates !== undefined) verifyCertificates(server, certificates);
  const connections = track(server, 'connection');
  const secureConnections = track(server, 'secureConnection');
  const address = await listen(server, options.bind);
  const requested = certificateRequest(options.tls);

  return {
    address,
    get activeConnections() {
      return connections.size;
    },
    prepareTLS(material) {
      const { requestCert, rejectUnauthorized } = certificateRequest(material);
      if (requestCert !== requested.requestCert || rejectUnauthorized !== requested.rejectUnauthorized)
        throw new Error('how clients are asked for a certificate can only be changed by a restart');
      const authorities = clientAuthorities(material);
      const secureContext = secureContextOptions(material);
      return () => {
        server.setSecureContext(secureContext);
        if (authorities !== undefined) certificates?.setAuthorities(authorities);
      };
    },
    drain() {
      draining.cancel();
      for (const session of sessions) sendGoAway(session);
    },
    async close(grace) {
      draining.cancel();
      server.close();
      for (const session of sessions) session.close();
      for (const socket of [...connections, ...secureConnections])
        if (socket.bytesRead === 0) socket.destroy();
      stopping.cancel();
      const timer = options.clock.after(grace, () => {
        options.logger.warn(
          { connections: connections.size },
          'the shutdown grace period is over: closing open connections',
        );
        for (const socket of connections) socket.destroy();
      });
      await allClosed(connections);
      await allClosed(secureConnections);
      await allClosed(sessions);
      timer.cancel();
    },
  };
}

function createTLSServer({ tls, http2, timeouts, limits, logger }: ListenerOptions): Server {
  const server = createServer({
    ...secureContextOptions(tls),
    ...certificateRequest(tls),
    ALPNProtocols: http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    handshakeTimeout: timeouts.header,
    headersTimeout: timeouts.header,
    // Each check wakes an idle process; a head may be late by one interval.
    connectionsCheckingInterval: Math.max(10, Math.min(5_000, timeouts.header / 2)),
    // The reader of a body limits its time.
    requestTimeout: 0,
    // `ProgressTimeout` limits idle connections. Without this, Node sends `Keep-Alive: timeout=…`.
    keepAliveTimeout: 0,
    maxHeaderSize: limits.headerBytes,
    // `checkHttp1Head` refuses it with a Status.
    requireHostHeader: false,
    // Most requests have no body and need no stream for it.
    optimizeEmptyRequests: true,
    noDelay: true,
    keepAlive: true,
  });
  // Node silently drops header fields beyond this; `checkHttp1Head` refuses a request with so many.
  server.maxHeadersCount = MAX_FIELDS + 1;
  server.on('tlsClientError', (error) => logger.debug({ error }, 'a TLS handshake failed'));
  return server;
}

/** The open sockets of the server's events. */
function track(server: Server, event: 'connection' | 'secureConnection'): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on(event, (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

async function allClosed(emitters: ReadonlySet<EventEmitter>): Promise<void> {
  await Promise.all([...emitters].map((emitter) => new Promise((resolve) => emitter.once('close', resolve))));
}

/** Verifies before the first request of a connection, in either protocol. */
function verifyCertificates(server: Server, certificates: ClientCertificates): void {
  server.on('connection', (socket: Socket) => certificates.onConnection(socket));
  server.prependListener('secureConnection', (socket: TLSSocket) => certificates.onSecureConnection(socket));
}

/** Serves connections that chose HTTP/2; Node's own listeners get the others. */
function serveHttp2Connections(server: Server, context: ServeContext): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  const http1Listeners = server.listeners('secureConnection');
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    // Its client certificate was not accepted.
    if (socket.destroyed) return;
    if (socket.alpnProtocol !== 'h2') {
      for (const listener of http1Listeners) listener.call(server, socket);
      return;
    }
    const session = serveHttp2(socket, context);
    // The handshake began before the listener stopped: a client sends its first request with its last flight.
    if (context.stopping.cancelled) session.once('stream', () => session.close());
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  return sessions;
}

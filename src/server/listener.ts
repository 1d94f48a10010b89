/**
 * The listener clients connect to: TLS, HTTP/1.1 and HTTP/2 on one port by ALPN. One `https.Server` accepts; what
 * chose `h2` is taken from it after the handshake, everything else stays with Node's HTTP/1 server.
 * RFC 7301 (ALPN), RFC 9113 §3.2.
 */
import type { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Exchange } from '../pipeline/ports.ts';
import { OpenAnswers } from './answer-state.ts';
import { readAuthorities } from './client-authorities.ts';
import { type ClientCertificates, createClientCertificates } from './client-certificates.ts';
import { serveHttp1 } from './http1.ts';
import { serveHttp2 } from './http2.ts';
import { listen } from './listen.ts';
import type { ListenerTimeouts, ServeContext } from './serve-context.ts';
import { authoritiesOf, certificateRequest, secureContextOptions, type TLSMaterial } from './tls-material.ts';

export interface ListenerOptions {
  /** `host:port`. */
  readonly bind: string;
  readonly tls: TLSMaterial;
  readonly http2: boolean;
  readonly timeouts: ListenerTimeouts;
  readonly limits: { readonly headerBytes: number };
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly serve: (exchange: Exchange) => Promise<void>;
}

export interface Listener {
  readonly address: AddressInfo;
  /** Open connections, whatever they are doing. */
  readonly activeConnections: number;
  /**
   * From when what it returns is called, new connections get this certificate; those there are keep theirs, save where their client has shown a
   * certificate that the new authorities would refuse: those are closed.
   *
   * @returns brings it into force; never throws
   * @throws Error where it cannot be used; the last good one stays
   */
  prepareTLS(material: TLSMaterial): () => void;
  /**
   * Stops accepting, lets answers come to their end, then closes what is left.
   *
   * @param grace milliseconds until open connections are broken off
   */
  close(grace: number): Promise<void>;
}

/** @throws Error where the address is taken or the certificate cannot be used */
export async function createListener(options: ListenerOptions): Promise<Listener> {
  const draining = new AbortController();
  const open = new OpenAnswers();
  const authorities = authoritiesOf(options.tls);
  const certificates =
    authorities === undefined ? undefined : createClientCertificates({ ...options, authorities });
  const isCredential = options.tls.credentialCA !== undefined;
  const context: ServeContext = {
    ...options,
    certificateOf: (socket) => (isCredential ? certificates?.of(socket) : undefined),
    headerBytes: options.limits.headerBytes,
    draining: draining.signal,
    open,
  };
  const server = createTLSServer(options);
  serveHttp1(server, context);
  const sessions = takeHttp2(server, context);
  if (certificates !== undefined) lookAtCertificates(server, certificates);
  const connections = track(server, 'connection');
  const secured = track(server, 'secureConnection');
  const address = await listen(server, options.bind);
  const asked = certificateRequest(options.tls);

  return {
    address,
    get activeConnections() {
      return connections.size;
    },
    prepareTLS(material) {
      const { requestCert, rejectUnauthorized } = certificateRequest(material);
      if (requestCert !== asked.requestCert || rejectUnauthorized !== asked.rejectUnauthorized)
        throw new Error('how clients are asked for a certificate can only be changed by a restart');
      const renewed = authoritiesOf(material);
      const trusted = renewed === undefined ? undefined : readAuthorities(renewed);
      const secured = secureContextOptions(material);
      return () => {
        server.setSecureContext(secured);
        if (trusted !== undefined) certificates?.trust(trusted);
      };
    },
    async close(grace) {
      draining.abort();
      server.close();
      for (const session of sessions) session.close();
      for (const socket of [...connections, ...secured]) if (socket.bytesRead === 0) socket.destroy();
      open.drain();
      const timer = options.clock.after(grace, () => {
        options.logger.warn({ connections: connections.size }, 'the grace is over: connections broken off');
        for (const socket of connections) socket.destroy();
      });
      await allClosed(connections);
      await allClosed(secured);
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
    // Each look wakes an idle process; a head may be late by as much.
    connectionsCheckingInterval: Math.max(10, Math.min(5_000, timeouts.header / 2)),
    // A body may take as long as it moves: whoever reads it decides.
    requestTimeout: 0,
    // Looked after by us: `idle-guard.ts`. Node sends no `Keep-Alive: timeout=…` so.
    keepAliveTimeout: 0,
    maxHeaderSize: limits.headerBytes,
    // Checked by us, for a Status in answer.
    requireHostHeader: false,
    // A request without a body needs no stream that ends; most are such.
    optimizeEmptyRequests: true,
    noDelay: true,
    keepAlive: true,
  });
  // By default Node drops fields beyond the 2000th in silence.
  server.maxHeadersCount = 0;
  server.on('tlsClientError', (error) => logger.debug({ error }, 'a TLS handshake failed'));
  return server;
}

/** The open ones of what the server announces by the event. */
function track(server: Server, event: 'connection' | 'secureConnection'): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on(event, (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

async function allClosed(ends: ReadonlySet<EventEmitter>): Promise<void> {
  await Promise.all([...ends].map((end) => new Promise((resolve) => end.once('close', resolve))));
}

/** Before anything is served on a connection, whichever protocol it speaks. */
function lookAtCertificates(server: Server, certificates: ClientCertificates): void {
  server.on('connection', (socket: Socket) => certificates.accepted(socket));
  server.prependListener('secureConnection', (socket: TLSSocket) => certificates.secured(socket));
}

/** Sends connections that chose HTTP/2 there; Node's own listener gets the rest. */
function takeHttp2(server: Server, context: ServeContext): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  const http1Listeners = server.listeners('secureConnection');
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (context.draining.aborted) {
      socket.destroy();
      return;
    }
    if (socket.alpnProtocol !== 'h2') {
      for (const listener of http1Listeners) listener.call(server, socket);
      return;
    }
    const session = serveHttp2(socket, context);
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  return sessions;
}

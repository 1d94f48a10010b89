/**
 * Client certificates, as a credential or as what a listener demands, looked at once for each connection, when its
 * handshake is done. A verdict lasts no longer than what it rests on: a connection is closed when its certificate runs
 * out and when the authorities have changed so that they would refuse it, whatever it is doing; a handshake that began
 * before the change is judged by what came after. No connection inherits an earlier one's verdict: sessions are not
 * resumed (`tls-material.ts`).
 */
import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../api/credentials.ts';
import type { Clock } from '../lib/clock.ts';
import { runAt } from '../lib/deadline.ts';
import type { Logger } from '../lib/logger.ts';
import { type ClientAuthorities, include, readAuthorities, vouchFor } from './client-authorities.ts';
import { describeCertificate } from './client-certificate.ts';

export interface ClientCertificates {
  /** To be told of each connection, before its handshake. */
  accepted(socket: Socket): void;
  /** And of each handshake that is done, before anything on the connection is served. */
  secured(socket: TLSSocket): void;
  /** What the client on it has shown; undefined where it has shown none. */
  of(socket: Duplex): ClientCertificate | undefined;
  /** From now on these authorities count, for the connections there are too. */
  trust(authorities: ClientAuthorities): void;
}

export interface ClientCertificatesOptions {
  /** PEM. */
  readonly authorities: string | Buffer;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Connection {
  readonly described: ClientCertificate;
  readonly certificate: X509Certificate;
  /** Above it, as far as Node tells; of one that is believed. */
  readonly issuers: readonly X509Certificate[];
  /** By whom the handshake judged it. */
  readonly judges: ClientAuthorities;
}

interface Accepted {
  readonly socket: Socket;
  /** Of that time. */
  readonly authorities: ClientAuthorities;
}

/** @throws Error where the authorities are no certificates */
export function createClientCertificates(options: ClientCertificatesOptions): ClientCertificates {
  const { clock, logger } = options;
  let current = readAuthorities(options.authorities);
  const accepted = new Map<string, Accepted>();
  const connections = new Map<Duplex, Connection>();

  function holds({ described, certificate, issuers, judges }: Connection): boolean {
    if (!described.verified) return false;
    return include(current, judges) || vouchFor(current, certificate, issuers, clock.now());
  }

  function close(socket: Duplex, { described }: Connection, reason: string): void {
    const which = described.verified ? { fingerprint: described.fingerprint } : {};
    logger.info({ ...which, reason }, "a connection was closed for its client's certificate");
    socket.destroy();
  }

  return {
    accepted(socket) {
      const ends = endsOf(socket);
      accepted.set(ends, { socket, authorities: current });
      socket.once('close', () => {
        if (accepted.get(ends)?.socket === socket) accepted.delete(ends);
      });
    },
    secured(socket) {
      const certificate = socket.getPeerX509Certificate();
      if (certificate === undefined) return;
      const judges = accepted.get(endsOf(socket))?.authorities;
      const connection = connectionOf(socket, certificate, judges);
      connections.set(socket, connection);
      socket.once('close', () => connections.delete(socket));
      const { described } = connection;
      if (!described.verified) return;
      const end = runAt(clock, described.notAfter, () => close(socket, connection, 'it has run out'));
      socket.once('close', () => end.cancel());
      if (judges !== current && !holds(connection)) close(socket, connection, CHANGED);
    },
    of: (socket) => connections.get(socket)?.described,
    trust(authorities) {
      if (authorities.digest === current.digest) return;
      current = authorities;
      // One that was not believed may be now: its client finds out by connecting anew.
      for (const [socket, connection] of connections)
        if (!holds(connection)) close(socket, connection, CHANGED);
    },
  };
}

const CHANGED = 'the authorities have changed';
const NOBODY: ClientAuthorities = { digest: '', certificates: [] };

/** @param judges undefined where its client left so soon that the system does not say any more which connection it was */
function connectionOf(
  socket: TLSSocket,
  certificate: X509Certificate,
  judges: ClientAuthorities | undefined,
): Connection {
  const refused = (problem: string): Connection => {
    const described = { verified: false, problem } as const;
    return { described, certificate, issuers: [], judges: NOBODY };
  };
  if (judges === undefined) return refused('its connection has ended');
  // A code of OpenSSL's such as CERT_HAS_EXPIRED. What a stranger has made up is not looked into.
  if (!socket.authorized) return refused(String(socket.authorizationError));
  try {
    const issuers = issuersOf(socket);
    return { described: describeCertificate(certificate, issuers), certificate, issuers, judges };
  } catch (error) {
    // Thrown on, it would end the process: nobody but the listener's events is above.
    return refused(`it cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function issuersOf(socket: TLSSocket): X509Certificate[] {
  const issuers = new Map<string, X509Certificate>();
  // The last is its own issuer, or has none: the types do not know of that.
  let above: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true).issuerCertificate;
  while (above !== undefined && !issuers.has(above.fingerprint256)) {
    issuers.set(above.fingerprint256, new X509Certificate(above.raw));
    above = above.issuerCertificate;
  }
  return [...issuers.values()];
}

/** What no two connections there are have in common, and a connection before and after its handshake has. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return JSON.stringify([localAddress, localPort, remoteAddress, remotePort]);
}

/**
 * The client certificates of a listener's connections, verified once per connection, after its handshake. A
 * connection is closed when its certificate expires or its CA is removed: OpenSSL verifies it again in the
 * next handshake. Sessions are not resumed (`tls-material.ts`), so that no connection inherits an earlier
 * verification.
 */
import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../lib/client-certificate.ts';
import { type Clock, runAt } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import {
  type ClientAuthorities,
  describeCertificate,
  includesAll,
  readAuthorities,
  rootOf,
} from './certificate-chain.ts';

export interface ClientCertificates {
  /** Call for each connection before its handshake. */
  onConnection(socket: Socket): void;
  /** Call after each handshake, before the connection is served. */
  onSecureConnection(socket: TLSSocket): void;
  /** Undefined if the client sent no certificate. */
  certificateOf(socket: Duplex): ClientCertificate | undefined;
  /** Replaces the authorities, for open connections too. */
  setAuthorities(authorities: ClientAuthorities): void;
}

export interface ClientCertificatesOptions {
  /** PEM. */
  readonly authorities: string | Buffer;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Connection {
  readonly described: ClientCertificate;
  /** The root of its verified chain; undefined if Node does not tell it. */
  readonly root: X509Certificate | undefined;
  /** The authorities at the time of the handshake. */
  readonly verifiedBy: ClientAuthorities;
}

interface Accepted {
  readonly socket: Socket;
  /** The authorities when it was accepted. */
  readonly authorities: ClientAuthorities;
}

/** @throws Error if the authorities are not certificates */
export function createClientCertificates(options: ClientCertificatesOptions): ClientCertificates {
  const { clock, logger } = options;
  let current = readAuthorities(options.authorities);
  const accepted = new Map<string, Accepted>();
  const connections = new Map<Duplex, Connection>();

  function isVerified({ described, root, verifiedBy }: Connection): boolean {
    if (!described.verified) return false;
    if (includesAll(current, verifiedBy)) return true;
    return root !== undefined && includesAll(current, { certificates: [root] });
  }

  function close(socket: Duplex, { described }: Connection, reason: string): void {
    const fields = described.verified ? { fingerprint: described.fingerprint } : {};
    logger.info({ ...fields, reason }, 'a connection was closed because of its client certificate');
    socket.destroy();
  }

  return {
    onConnection(socket) {
      const key = connectionKey(socket);
      accepted.set(key, { socket, authorities: current });
      socket.once('close', () => {
        if (accepted.get(key)?.socket === socket) accepted.delete(key);
      });
    },
    onSecureConnection(socket) {
      const certificate = socket.getPeerX509Certificate();
      if (certificate === undefined) return;
      const verifiedBy = accepted.get(connectionKey(socket))?.authorities;
      const connection = connectionOf(socket, certificate, verifiedBy);
      connections.set(socket, connection);
      socket.once('close', () => connections.delete(socket));
      const { described } = connection;
      if (!described.verified) return;
      const end = runAt(clock, described.notAfter, () => close(socket, connection, 'it has expired'));
      socket.once('close', () => end.cancel());
      if (verifiedBy !== current && !isVerified(connection)) close(socket, connection, CHANGED);
    },
    certificateOf: (socket) => connections.get(socket)?.described,
    setAuthorities(authorities) {
      if (authorities.digest === current.digest) return;
      current = authorities;
      // A certificate that was refused before may be valid now: its client has to connect again.
      for (const [socket, connection] of connections)
        if (!isVerified(connection)) close(socket, connection, CHANGED);
    },
  };
}

const CHANGED = 'the authorities have changed';
const NO_AUTHORITIES: ClientAuthorities = { digest: '', certificates: [] };

/** @param verifiedBy undefined if the client disconnected so soon that the socket no longer has addresses */
function connectionOf(
  socket: TLSSocket,
  certificate: X509Certificate,
  verifiedBy: ClientAuthorities | undefined,
): Connection {
  const refused = (problem: string): Connection => {
    const described = { verified: false, problem } as const;
    return { described, root: undefined, verifiedBy: NO_AUTHORITIES };
  };
  if (verifiedBy === undefined) return refused('its connection has ended');
  // OpenSSL's code, such as CERT_HAS_EXPIRED. An unverified certificate is not parsed.
  if (!socket.authorized) return refused(String(socket.authorizationError));
  try {
    const issuers = issuersOf(socket);
    const root = rootOf([certificate, ...issuers]);
    return { described: describeCertificate(certificate, issuers), root, verifiedBy };
  } catch (error) {
    // The caller is an event of the listener: an error thrown here would end the process.
    return refused(`it cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function issuersOf(socket: TLSSocket): X509Certificate[] {
  const issuers = new Map<string, X509Certificate>();
  // The last one is its own issuer or has none, contrary to its type.
  let issuer: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true).issuerCertificate;
  while (issuer !== undefined && !issuers.has(issuer.fingerprint256)) {
    issuers.set(issuer.fingerprint256, new X509Certificate(issuer.raw));
    issuer = issuer.issuerCertificate;
  }
  return [...issuers.values()];
}

/** Identifies an open connection: the same for its socket before and after the handshake. */
function connectionKey({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return JSON.stringify([localAddress, localPort, remoteAddress, remotePort]);
}

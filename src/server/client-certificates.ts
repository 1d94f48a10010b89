/**
 * The client certificates of a listener's connections, verified once per connection by its handshake. A
 * connection is closed when its certificate expires or the authorities change: the next handshake verifies
 * the certificate again. Sessions are not resumed (`tls-material.ts`), so that no connection inherits an
 * earlier verification.
 * RFC 5280 §4.1.2.6; https://nodejs.org/api/tls.html#certificate-object
 */

import { hash, X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../lib/client-certificate.ts';
import { runAt } from '../lib/clock.ts';
import { messageOf } from '../lib/error-code.ts';
import type { Runtime } from '../lib/runtime.ts';

export interface ClientCertificates {
  /** Call for each connection before its handshake. */
  onConnection(socket: Socket): void;
  /** Call after each handshake, before the connection is served. */
  onSecureConnection(socket: TLSSocket): void;
  /** Undefined if the client sent no certificate. */
  certificateOf(socket: Duplex): ClientCertificate | undefined;
  /**
   * Call after the server's authorities were replaced. If they are others, it closes all connections with a
   * client certificate, and those in their handshake.
   *
   * @param authorities PEM
   */
  setAuthorities(authorities: string | Buffer): void;
}

export interface ClientCertificatesOptions extends Pick<Runtime, 'clock' | 'logger'> {
  /** PEM. */
  readonly authorities: string | Buffer;
}

export function createClientCertificates(options: ClientCertificatesOptions): ClientCertificates {
  const { clock, logger } = options;
  let digest = hash('sha256', options.authorities);
  /** Connections in their handshake. */
  const handshakes = new Map<string, Socket>();
  const connections = new Map<Duplex, ClientCertificate>();

  function close(socket: Duplex, certificate: ClientCertificate, reason: string): void {
    const fields = certificate.verified ? { fingerprint: certificate.fingerprint } : {};
    logger.info({ ...fields, reason }, 'a connection was closed because of its client certificate');
    socket.destroy();
  }

  return {
    onConnection(socket) {
      const key = connectionKey(socket);
      handshakes.set(key, socket);
      socket.once('close', () => {
        if (handshakes.get(key) === socket) handshakes.delete(key);
      });
    },
    onSecureConnection(socket) {
      // Its handshake began before the authorities changed, or it has already ended.
      if (!handshakes.delete(connectionKey(socket))) {
        socket.destroy();
        return;
      }
      const x509 = socket.getPeerX509Certificate();
      if (x509 === undefined) return;
      const certificate = certificateIn(socket, x509);
      connections.set(socket, certificate);
      socket.once('close', () => connections.delete(socket));
      if (!certificate.verified) return;
      const end = runAt(clock, certificate.notAfter, () => close(socket, certificate, 'it has expired'));
      socket.once('close', () => end.cancel());
    },
    certificateOf: (socket) => connections.get(socket),
    setAuthorities(authorities) {
      const changed = hash('sha256', authorities);
      if (changed === digest) return;
      digest = changed;
      for (const socket of handshakes.values()) socket.destroy();
      handshakes.clear();
      // A certificate that was refused may be valid now, but only in a new handshake.
      for (const [socket, certificate] of connections)
        close(socket, certificate, 'the authorities have changed');
    },
  };
}

/** Identifies an open connection: the same for its socket before and after the handshake. */
function connectionKey({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return JSON.stringify([localAddress, localPort, remoteAddress, remotePort]);
}

function certificateIn(socket: TLSSocket, certificate: X509Certificate): ClientCertificate {
  // OpenSSL's code, such as CERT_HAS_EXPIRED. An unverified certificate is not parsed.
  if (!socket.authorized) return { verified: false, problem: String(socket.authorizationError) };
  try {
    return describeCertificate(certificate, issuersOf(socket));
  } catch (error) {
    // The caller is an event of the listener: an error thrown here would end the process.
    const problem = `it cannot be read: ${messageOf(error)}`;
    return { verified: false, problem };
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

/** Node's name for an attribute whose value is not a text. */
const UNREADABLE = '';

/**
 * The subject's attributes one by one. The subject as one text could be forged: a value could look like two
 * attributes (CVE-2021-44532).
 *
 * @param issuers the known certificates of its chain, which limit its validity
 */
export function describeCertificate(
  certificate: X509Certificate,
  issuers: readonly X509Certificate[],
): ClientCertificate {
  const { subject } = certificate.toLegacyObject();
  if (Object.hasOwn(subject, UNREADABLE))
    return { verified: false, problem: 'its subject has an attribute that is no text' };
  const notAfter = Math.min(...[certificate, ...issuers].map(({ validToDate }) => validToDate.getTime()));
  if (Number.isNaN(notAfter)) return { verified: false, problem: 'its end is no date' };
  return {
    verified: true,
    commonNames: valuesOf(subject.CN),
    organizations: valuesOf(subject.O),
    organizationalUnits: valuesOf(subject.OU),
    notAfter,
    serialNumber: certificate.serialNumber.toLowerCase(),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}

function valuesOf(attribute: string | readonly string[] | undefined): readonly string[] {
  if (attribute === undefined) return [];
  return typeof attribute === 'string' ? [attribute] : attribute;
}

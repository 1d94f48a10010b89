/**
 * The TLS options of a listener. TLS 1.2 is the oldest version that Kubernetes clients request.
 */
import { constants, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { certificateBlocks } from '../lib/transport-security.ts';

export interface TLSMaterial {
  /** PEM, including the chain. */
  readonly cert: string | Buffer;
  /** PEM. */
  readonly key: string | Buffer;
  /** PEM. If given, only clients with a certificate of this CA may connect. */
  readonly clientCA?: string | Buffer;
  /** PEM. If given, and no `clientCA`, a certificate of this CA authenticates the client; it is optional. */
  readonly credentialCA?: string | Buffer;
}

/**
 * A resumed session would restore the result of an earlier handshake without its certificate chain; a
 * renegotiation would change the client's identity during a connection. Go's clients do neither.
 */
const VERIFY_ONCE = constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION;

/**
 * @returns options of `tls.createServer` and `setSecureContext`
 * @throws Error if certificate and key do not match, or any of it is not PEM; the message holds no secret
 */
export function secureContextOptions(material: TLSMaterial): SecureContextOptions {
  const { cert, key } = material;
  const ca = clientAuthorities(material);
  const options: SecureContextOptions = {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ...(ca === undefined ? {} : { ca, secureOptions: VERIFY_ONCE }),
  };
  createSecureContext(options);
  // OpenSSL ignores authorities that it cannot read.
  for (const block of certificateBlocks(ca ?? '')) new X509Certificate(block);
  return options;
}

/** PEM of the CAs that verify client certificates; undefined if no certificate is requested. */
export function clientAuthorities({ clientCA, credentialCA }: TLSMaterial): string | Buffer | undefined {
  return credentialCA ?? clientCA;
}

/** Whether client certificates are requested and required. A server cannot change this later. */
export function certificateRequest(material: TLSMaterial) {
  return {
    requestCert: clientAuthorities(material) !== undefined,
    rejectUnauthorized: material.clientCA !== undefined,
  };
}

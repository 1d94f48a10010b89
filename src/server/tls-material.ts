/**
 * What the listener needs to speak TLS. TLS 1.2 is the oldest version a Kubernetes client may ask for.
 */
import { constants } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

export type TLSMaterial = ServerMaterial & ClientMaterial;

interface ServerMaterial {
  /** PEM, the chain included. */
  readonly cert: string | Buffer;
  /** PEM. */
  readonly key: string | Buffer;
}

type ClientMaterial =
  | {
      /** PEM. Where it is given, only clients with a certificate of this authority may connect. */
      readonly clientCA?: string | Buffer;
      readonly credentialCA?: never;
    }
  | {
      /** PEM. Where it is given, a client may show a certificate of this authority to say who it is. */
      readonly credentialCA: string | Buffer;
      readonly clientCA?: never;
    };

/**
 * A resumed session would bring back what an earlier handshake found, without the chain it was found by; a renegotiated
 * one would change who a client is in the middle of a connection. Go's clients do neither.
 */
const JUDGED_ONCE = constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION;

/**
 * @returns what `tls.createServer` and `setSecureContext` take
 * @throws Error where certificate and key are no pair, or any of it is not PEM; its message holds no secret
 */
export function secureContextOptions(material: TLSMaterial): SecureContextOptions {
  const { cert, key } = material;
  const ca = authoritiesOf(material);
  const options: SecureContextOptions = {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ...(ca === undefined ? {} : { ca, secureOptions: JUDGED_ONCE }),
  };
  createSecureContext(options);
  return options;
}

/** PEM: by whom clients' certificates are judged, whatever for; undefined where none is asked for. */
export function authoritiesOf({ clientCA, credentialCA }: TLSMaterial): string | Buffer | undefined {
  return credentialCA ?? clientCA;
}

/** Whether clients are asked for a certificate; what a server is created with and keeps. */
export function certificateRequest(material: TLSMaterial) {
  return {
    requestCert: authoritiesOf(material) !== undefined,
    rejectUnauthorized: material.clientCA !== undefined,
  };
}

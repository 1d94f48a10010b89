/**
 * What the listener needs to speak TLS. TLS 1.2 is the oldest version a Kubernetes client may ask for.
 */
import { createSecureContext, type SecureContextOptions } from 'node:tls';

export interface TLSMaterial {
  /** PEM, the chain included. */
  readonly cert: string | Buffer;
  /** PEM. */
  readonly key: string | Buffer;
  /** PEM. Where it is given, only clients with a certificate of this authority may connect. */
  readonly clientCA?: string | Buffer;
}

/**
 * @returns what `tls.createServer` and `setSecureContext` take
 * @throws Error where certificate and key are no pair, or any of it is not PEM; its message holds no secret
 */
export function secureContextOptions({ cert, key, clientCA }: TLSMaterial): SecureContextOptions {
  const options: SecureContextOptions = {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ...(clientCA === undefined ? {} : { ca: clientCA }),
  };
  createSecureContext(options);
  return options;
}

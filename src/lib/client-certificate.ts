/**
 * A client's certificate as the listener has read and verified it. RFC 5280.
 */

/**
 * The listener has verified the certificate against the current authorities. One that failed is passed on as
 * such, because a request with a refused certificate must not be treated as one without a certificate.
 */

export type ClientCertificate = VerifiedCertificate | { readonly verified: false; readonly problem: string };

export interface VerifiedCertificate {
  readonly verified: true;
  /** All attributes of these types in the subject, in order. */
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  readonly organizationalUnits: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  /** Hexadecimal, for the audit log. */
  readonly serialNumber: string;
  /** SHA-256 of the certificate, in lower-case hexadecimal. */
  readonly fingerprint: string;
}

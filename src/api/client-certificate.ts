/**
 * What of a client's certificate says who it is. Whether it is to be believed was decided by the listener, against the
 * authorities of the moment: a certificate that is not says so here, so that nobody takes it for none.
 * RFC 5280 §4.1.2.6 (subject).
 */
export type ClientCertificate = VerifiedCertificate | { readonly verified: false; readonly problem: string };

export interface VerifiedCertificate {
  readonly verified: true;
  /** Every attribute of these types in the subject, in its order. */
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  readonly organizationalUnits: readonly string[];
  /** In milliseconds since the epoch. */
  readonly notAfter: number;
  /** In hexadecimal, for the audit log. */
  readonly serialNumber: string;
  /** SHA-256 of the certificate, in lower-case hexadecimal. */
  readonly fingerprint: string;
}

/**
 * Credentials as they are read for the authenticators: a client's certificate, and the users of a token file
 * or a basic-auth file (`config/static-users.ts`). RFC 5280 §4.1.2.6 (subject).
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

export interface StaticUser {
  /** The user's name with the configured prefix. */
  readonly name: string;
  readonly uid: string;
  /** The groups with the configured prefix. */
  readonly groups: readonly string[];
  readonly tenant: string;
}

export interface StaticToken {
  readonly token: string;
  readonly user: StaticUser;
}

export interface StaticPassword {
  /** The name that the client sends, without the prefix. */
  readonly login: string;
  readonly password: StoredPassword;
  readonly user: StaticUser;
}

export type StoredPassword =
  | { readonly kind: 'plain'; readonly password: string }
  /** The hash contains its salt and cost. */
  | { readonly kind: 'bcrypt'; readonly hash: string };

/**
 * `client.authentication.k8s.io`: how kubectl asks a credential plugin, and what it wants to hear.
 * https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
 */

export const EXEC_CREDENTIAL_VERSIONS = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
] as const;
export type ExecCredentialVersion = (typeof EXEC_CREDENTIAL_VERSIONS)[number];

export interface ExecCredential {
  readonly kind: 'ExecCredential';
  readonly apiVersion: ExecCredentialVersion;
  readonly status: {
    readonly token: string;
    /** RFC 3339; kubectl asks again after it. */
    readonly expirationTimestamp?: string;
  };
}

/** What kubectl puts into `KUBERNETES_EXEC_INFO`, as far as a plugin may need it. */
export interface ExecInfo {
  readonly kind: 'ExecCredential';
  readonly apiVersion: string;
  readonly spec: { readonly interactive: boolean };
}

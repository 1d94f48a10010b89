/**
 * `client.authentication.k8s.io`: the exchange between kubectl and a credential plugin.
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
    /** RFC 3339; kubectl runs the plugin again after it. */
    readonly expirationTimestamp?: string;
  };
}

/** The content of `KUBERNETES_EXEC_INFO`, without the fields that plugins do not need. */
export interface ExecInfo {
  readonly kind: 'ExecCredential';
  readonly apiVersion: string;
  readonly spec: { readonly interactive: boolean };
}

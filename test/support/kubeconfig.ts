/** A kubeconfig for one server and one user. */
import type { KeyPair } from './tls/authority.ts';

/** Who makes a request: a client certificate, a token, or neither. */
export interface Credential {
  readonly certificate?: KeyPair;
  readonly token?: string;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** In JSON, which is YAML too. `ca` is PEM. */
export function kubeconfigOf(
  { url, ca }: { readonly url: string; readonly ca: string },
  { token, certificate }: Credential,
): string {
  const user = {
    ...(token !== undefined && { token }),
    ...(certificate && {
      'client-certificate-data': base64(certificate.cert),
      'client-key-data': base64(certificate.key),
    }),
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

/** Kubeconfigs for one server, for an unmodified kubectl. */
import { stringify } from 'yaml';
import type { KeyPair } from './tls/authority.ts';

/** The credential of a request: a client certificate, a token, or neither. */
export interface Credential {
  readonly certificate?: KeyPair;
  readonly token?: string;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

interface Server {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
}

export function kubeconfigOf(server: Server, { token, certificate }: Credential) {
  return kubeconfigFor(server, {
    ...(token !== undefined && { token }),
    ...(certificate && {
      'client-certificate-data': base64(certificate.cert),
      'client-key-data': base64(certificate.key),
    }),
  });
}

/** A kubeconfig in JSON, which is also YAML. */
export function kubeconfigFor({ url, ca }: Server, user: object) {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

/**
 * @param tokens context → its token; the first context is the current one
 * @param namespaceOf the namespace of a context
 */
export function contextsOf(
  { url, ca }: Server,
  tokens: Readonly<Record<string, string>>,
  namespaceOf: (context: string) => string = () => 'default',
) {
  const names = Object.keys(tokens);
  const cluster = { server: url, 'certificate-authority-data': base64(ca) };
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'stonegate', cluster }],
      users: names.map((name) => ({ name, user: { token: tokens[name] } })),
      contexts: names.map((name) => ({
        name,
        context: { cluster: 'stonegate', user: name, namespace: namespaceOf(name) },
      })),
      'current-context': names[0],
    },
    { lineWidth: 0 },
  );
}

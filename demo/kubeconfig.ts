/** The kubeconfig for an unmodified kubectl. */
import { stringify } from 'yaml';

export interface KubeconfigOptions {
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  /** Context → the token it sends. The first is the current one. */
  readonly tokens: Readonly<Record<string, string>>;
}

export function kubeconfigOf({ server, ca, tokens }: KubeconfigOptions): string {
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const callers = Object.keys(tokens);
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'stonegate', cluster }],
      users: callers.map((name) => ({ name, user: { token: tokens[name] } })),
      contexts: callers.map((name) => ({ name, context: { cluster: 'stonegate', user: name } })),
      'current-context': callers[0] ?? '',
    },
    { lineWidth: 0 },
  );
}

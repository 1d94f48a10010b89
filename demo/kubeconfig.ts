/** The kubeconfig that a person points an unmodified kubectl at. */
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
  const people = Object.keys(tokens);
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'stonegate', cluster }],
      users: people.map((name) => ({ name, user: { token: tokens[name] } })),
      contexts: people.map((name) => ({ name, context: { cluster: 'stonegate', user: name } })),
      'current-context': people[0] ?? '',
    },
    { lineWidth: 0 },
  );
}

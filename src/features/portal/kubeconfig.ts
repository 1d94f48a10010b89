/**
 * The kubeconfig that users download: it names `stonegate login` as the credential plugin and contains no
 * secret.
 */
import { stringify } from 'yaml';
import {
  accessPerProject,
  type KubeconfigAccess,
  type KubeconfigCluster,
  kubeconfigEntries,
  kubeconfigName,
} from '../../kubernetes/kubeconfig-v1.ts';
import type { Account } from './account.ts';
import type { Provider } from './oidc-portal.ts';

/** Keeps the kubeconfig readable. */
const MAX_CONTEXTS = 50;

/** Its name is a DNS label. */
export interface ClusterFacts extends KubeconfigCluster {
  /** The URL of Keystone that users reach. */
  readonly keystoneURL: string | undefined;
}

/** The first is the user of the current context. */
export function kubeconfigUsers(
  account: Account,
  cluster: ClusterFacts,
  provider: Provider | undefined,
): KubeconfigAccess[] {
  const own = kubeconfigName(cluster.name, account.tenant);
  if (account.issuer !== undefined) {
    const args = [
      'login',
      '--oidc',
      `--issuer-url=${account.issuer}`,
      `--client-id=${provider?.kubectlClientID ?? ''}`,
      ...redirectURI(provider),
      ...extraScopes(provider).map((scope) => `--scope=${scope}`),
    ];
    return [{ name: own, args }];
  }
  // Flags take precedence over the environment variables of an `openrc` file.
  const args = [
    ...['login', '--keystone', `--os-auth-url=${cluster.keystoneURL ?? ''}`],
    ...[`--os-username=${account.name}`, `--os-user-domain-name=${account.domain ?? ''}`],
  ];
  const projects = [...(account.project === undefined ? [] : [account.project]), ...account.otherProjects];
  if (projects.length === 0) return [{ name: own, args }];
  return accessPerProject(cluster.name, projects.slice(0, MAX_CONTEXTS), args);
}

/** @returns YAML */
export function kubeconfigOf(cluster: ClusterFacts, users: readonly KubeconfigAccess[]): string {
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      ...kubeconfigEntries(cluster, users),
      'current-context': users[0]?.name ?? '',
    },
    // kubectl reads YAML 1.1, in which a name such as `on` is a boolean.
    { lineWidth: 0, compat: 'yaml-1.1' },
  );
}

/** The scopes that `stonegate login` does not request by default. */
function extraScopes(provider: Provider | undefined): readonly string[] {
  const defaults = ['openid', 'profile', 'email'];
  return (provider?.scopes ?? []).filter((scope) => !defaults.includes(scope));
}

function redirectURI(provider: Provider | undefined): string[] {
  const uri = provider?.kubectlRedirectURI;
  return uri === undefined ? [] : [`--redirect-uri=${uri}`];
}

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
import { oidcLoginArguments } from '../client-setup/client-setup-v1alpha1.ts';
import type { Account } from './account.ts';
import type { Provider } from './oidc-portal.ts';

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
    const client = {
      ...{ issuer: account.issuer, clientID: provider?.kubectlClientID ?? '' },
      ...{ redirectURI: provider?.kubectlRedirectURI, scopes: provider?.scopes ?? [] },
    };
    return [{ name: own, args: ['login', ...oidcLoginArguments(client)] }];
  }
  // Flags take precedence over the environment variables of an `openrc` file.
  const args = [
    ...['login', '--keystone', `--os-auth-url=${cluster.keystoneURL ?? ''}`],
    ...[`--os-username=${account.name}`, `--os-user-domain-name=${account.domain ?? ''}`],
  ];
  const projects = [...(account.project === undefined ? [] : [account.project]), ...account.otherProjects];
  if (projects.length === 0) return [{ name: own, args }];
  return accessPerProject(cluster.name, projects, args);
}

export function kubeconfigFileName({ name }: ClusterFacts): string {
  return `${name}.kubeconfig`;
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

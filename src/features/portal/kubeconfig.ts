/**
 * The kubeconfigs that users download. One names `stonegate login` as the credential plugin and contains no
 * secret; the other has an access token.
 */
import { stringify } from 'yaml';
import {
  accessPerProject,
  type KubeconfigAccess,
  type KubeconfigCluster,
  kubeconfigEntries,
  kubeconfigName,
} from '../../kubernetes/kubeconfig-v1.ts';
import { toDataURL } from '../../lib/data-url.ts';
import type { TokenAccess } from '../../proxy/portal-page.ts';
import { oidcLoginArguments } from '../client-setup/client-setup-v1alpha1.ts';
import type { Account } from './account.ts';
import type { Provider } from './oidc-portal.ts';

/** Its name is a DNS label. */
export interface ClusterFacts extends KubeconfigCluster {
  /** The URL of Keystone that users reach. */
  readonly keystoneURL: string | undefined;
  /** PEM; undefined: the system's CAs. */
  readonly keystoneCA?: string | undefined;
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
    const trust = provider?.ca === undefined ? [] : [`--ca-file=${toDataURL(provider.ca)}`];
    return [{ name: own, args: ['login', ...oidcLoginArguments(client), ...trust] }];
  }
  // Flags take precedence over the environment variables of an `openrc` file.
  const args = [
    ...['login', '--keystone', `--os-auth-url=${cluster.keystoneURL ?? ''}`],
    ...(cluster.keystoneCA === undefined ? [] : [`--os-cacert=${toDataURL(cluster.keystoneCA)}`]),
    ...[`--os-username=${account.name}`, `--os-user-domain-name=${account.domain ?? ''}`],
  ];
  const projects = [...(account.project === undefined ? [] : [account.project]), ...account.otherProjects];
  if (projects.length === 0) return [{ name: own, args }];
  return accessPerProject(cluster.name, projects, args);
}

/** @param token its name, if the file has one */
export function kubeconfigFileName({ name }: ClusterFacts, token?: string): string {
  return `${token === undefined ? name : `${name}-${token}`}.kubeconfig`;
}

/** @returns YAML */
export function kubeconfigWithToken(cluster: ClusterFacts, { name, token, namespace }: TokenAccess): string {
  return kubeconfigOf(cluster, [{ name: kubeconfigName(cluster.name, name), args: [], token, namespace }]);
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

/**
 * The kubeconfig that users download, and the same as `kubectl config` commands. Both name `stonegate login`
 * as the exec plugin and contain no secret. Names have only letters, digits and dashes: `kubectl config set`
 * splits at dots.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/; …/client-authentication.v1/
 */

import { stringify } from 'yaml';
import type { Account } from './account.ts';
import type { ProjectName, Provider } from './ports.ts';

const EXEC_API = 'client.authentication.k8s.io/v1';
/** `v1` requires `interactiveMode`, which `kubectl config` cannot set before 1.33. */
const COMMANDS_EXEC_API = 'client.authentication.k8s.io/v1beta1';
const INSTALL_HINT = 'stonegate is needed to sign in: put it on your PATH';
/** Keeps the kubeconfig readable. */
const MAX_CONTEXTS = 50;

export interface ClusterFacts {
  /** A DNS label. */
  readonly name: string;
  readonly server: string;
  /** PEM; undefined if clients trust the certificate by the system's CAs. */
  readonly ca: string | undefined;
  /** The URL of Keystone that users reach. */
  readonly keystoneURL: string | undefined;
}

/** A user of the kubeconfig; its context has the same name. */
export interface KubeconfigUser {
  readonly name: string;
  /** Arguments of the exec plugin `stonegate`. */
  readonly args: readonly string[];
}

/** The first is the user of the current context. */
export function kubeconfigUsers(
  account: Account,
  cluster: ClusterFacts,
  provider: Provider | undefined,
): KubeconfigUser[] {
  if (account.issuer !== undefined) {
    const args = [
      'login',
      '--oidc',
      `--issuer-url=${account.issuer}`,
      `--client-id=${provider?.kubectlClientID ?? ''}`,
      ...redirectURI(provider),
      ...extraScopes(provider).map((scope) => `--scope=${scope}`),
    ];
    return [{ name: nameOf(cluster.name, account.tenant), args }];
  }
  const own = account.project === undefined ? [] : [account.project];
  const projects = [...own, ...account.otherProjects].slice(0, MAX_CONTEXTS);
  if (projects.length === 0) return [keystoneUser(nameOf(cluster.name, account.tenant), account, cluster)];
  const taken = new Set<string>();
  return projects.map((project) => {
    const plain = nameOf(cluster.name, project.name);
    const name = taken.has(plain) ? nameOf(plain, project.id) : plain;
    taken.add(name);
    return keystoneUser(name, account, cluster, project);
  });
}

/** @returns YAML */
export function kubeconfigOf(cluster: ClusterFacts, users: readonly KubeconfigUser[]): string {
  const { name, server, ca } = cluster;
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name,
          cluster: { server, ...(ca === undefined ? {} : { 'certificate-authority-data': base64(ca) }) },
        },
      ],
      users: users.map(({ name, args }) => ({
        name,
        user: {
          exec: {
            apiVersion: EXEC_API,
            command: 'stonegate',
            args,
            interactiveMode: 'IfAvailable',
            provideClusterInfo: false,
            installHint: INSTALL_HINT,
          },
        },
      })),
      contexts: users.map((user) => ({ name: user.name, context: { cluster: name, user: user.name } })),
      'current-context': users[0]?.name ?? '',
    },
    // kubectl reads YAML 1.1, in which a name such as `on` is a boolean.
    { lineWidth: 0, compat: 'yaml-1.1' },
  );
}

/** Shell commands that set up the first user. */
export function kubectlCommands(cluster: ClusterFacts, [user]: readonly KubeconfigUser[]): string[] {
  if (user === undefined) return [];
  const { name, server, ca } = cluster;
  const config = (...args: readonly string[]) => ['kubectl', 'config', ...args].map(shellWord).join(' ');
  return [
    config('set-cluster', name, `--server=${server}`),
    ...(ca === undefined ? [] : [config('set', `clusters.${name}.certificate-authority-data`, base64(ca))]),
    config(
      'set-credentials',
      user.name,
      `--exec-api-version=${COMMANDS_EXEC_API}`,
      '--exec-command=stonegate',
      ...user.args.map((arg) => `--exec-arg=${arg}`),
    ),
    config('set-context', user.name, `--cluster=${name}`, `--user=${user.name}`),
    config('use-context', user.name),
  ];
}

/** Flags, because they take precedence over the environment variables of an `openrc` file. */
function keystoneUser(
  name: string,
  account: Account,
  cluster: ClusterFacts,
  project?: ProjectName,
): KubeconfigUser {
  const values: Record<string, string> = {
    'auth-url': cluster.keystoneURL ?? '',
    username: account.name,
    'user-domain-name': account.domain ?? '',
    ...(project !== undefined && { 'project-id': project.id }),
  };
  const flags = Object.entries(values).map(([flag, value]) => `--os-${flag}=${value}`);
  return { name, args: ['login', '--keystone', ...flags] };
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

function nameOf(...parts: readonly string[]): string {
  return parts
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Quotes a word for a POSIX shell if needed. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

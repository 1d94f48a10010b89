/**
 * The kubeconfig people download, and the same as commands for the one they have. Both name `stonegate login` as the
 * way to a credential and hold none, so that they can lie about. Cluster, user and contexts have names of their own,
 * letters, digits and dashes alone: `kubectl config set` takes a dot for the end of a name.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/; …/client-authentication.v1/
 */

import { stringify } from 'yaml';
import type { Account } from './account.ts';
import type { Provider } from './ports.ts';
import type { ProjectName } from './session.ts';

const EXEC_API = 'client.authentication.k8s.io/v1';
/** `v1` demands an interactive mode, which `kubectl config` cannot set before 1.33. */
const EXEC_API_OF_COMMANDS = 'client.authentication.k8s.io/v1beta1';
const INSTALL_HINT = 'stonegate is needed to sign in: put it on your PATH';
/** What a kubeconfig can hold and still be read. */
const MAX_CONTEXTS = 50;

export interface ClusterFacts {
  /** A DNS label. */
  readonly name: string;
  readonly server: string;
  /** PEM; undefined where the system's authorities are enough. */
  readonly ca: string | undefined;
  /** Of Keystone, as people's machines reach it. */
  readonly keystoneURL: string | undefined;
}

/** One way to the cluster: a user and a context of the same name. */
export interface Access {
  readonly name: string;
  /** For `stonegate`. */
  readonly args: readonly string[];
}

/** The first is the one that is used when nothing else is said. */
export function accessOf(account: Account, cluster: ClusterFacts, provider: Provider | undefined): Access[] {
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
  const here = account.project === undefined ? [] : [account.project];
  const projects = [...here, ...account.otherProjects].slice(0, MAX_CONTEXTS);
  if (projects.length === 0) return [keystoneAccess(nameOf(cluster.name, account.tenant), account, cluster)];
  const taken = new Set<string>();
  return projects.map((project) => {
    const plain = nameOf(cluster.name, project.name);
    const name = taken.has(plain) ? nameOf(plain, project.id) : plain;
    taken.add(name);
    return keystoneAccess(name, account, cluster, project);
  });
}

/** As YAML. */
export function kubeconfigOf(cluster: ClusterFacts, access: readonly Access[]): string {
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
      users: access.map((each) => ({
        name: each.name,
        user: {
          exec: {
            apiVersion: EXEC_API,
            command: 'stonegate',
            args: each.args,
            interactiveMode: 'IfAvailable',
            provideClusterInfo: false,
            installHint: INSTALL_HINT,
          },
        },
      })),
      contexts: access.map((each) => ({ name: each.name, context: { cluster: name, user: each.name } })),
      'current-context': access[0]?.name ?? '',
    },
    // kubectl reads YAML 1.1, to which a name such as `on` is a boolean.
    { lineWidth: 0, compat: 'yaml-1.1' },
  );
}

/** A shell command each, for the first access. */
export function kubectlCommands(cluster: ClusterFacts, [access]: readonly Access[]): string[] {
  if (access === undefined) return [];
  const { name, server, ca } = cluster;
  const config = (...args: readonly string[]) => ['kubectl', 'config', ...args].map(shellWord).join(' ');
  return [
    config('set-cluster', name, `--server=${server}`),
    ...(ca === undefined ? [] : [config('set', `clusters.${name}.certificate-authority-data`, base64(ca))]),
    config(
      'set-credentials',
      access.name,
      `--exec-api-version=${EXEC_API_OF_COMMANDS}`,
      '--exec-command=stonegate',
      ...access.args.map((arg) => `--exec-arg=${arg}`),
    ),
    config('set-context', access.name, `--cluster=${name}`, `--user=${access.name}`),
    config('use-context', access.name),
  ];
}

/** As flags, since those count more than what an `openrc` file has left in somebody's environment. */
function keystoneAccess(
  name: string,
  account: Account,
  cluster: ClusterFacts,
  project?: ProjectName,
): Access {
  const words: Record<string, string> = {
    'auth-url': cluster.keystoneURL ?? '',
    username: account.name,
    'user-domain-name': account.domain ?? '',
    ...(project !== undefined && { 'project-id': project.id }),
  };
  const flags = Object.entries(words).map(([word, value]) => `--os-${word}=${value}`);
  return { name, args: ['login', '--keystone', ...flags] };
}

/** Those that `stonegate login` does not ask for by itself. */
function extraScopes(provider: Provider | undefined): readonly string[] {
  const usual = ['openid', 'profile', 'email'];
  return (provider?.scopes ?? []).filter((scope) => !usual.includes(scope));
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

/** A word of a POSIX shell: in single quotes unless it is harmless. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * What `stonegate kubeconfig` adds: a cluster, and for each way to log in a user and a context of the same name. The
 * user is `stonegate login` as kubectl's credential plugin, so no secret stands in the file. Names are letters, digits
 * and dashes: `kubectl config set` takes a dot for the end of a name.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */

export interface ClusterFacts {
  readonly name: string;
  readonly server: string;
  /** PEM; undefined where the system's authorities are enough. */
  readonly ca: string | undefined;
}

export interface Access {
  /** Of user and context. */
  readonly name: string;
  /** The words behind `stonegate`. */
  readonly args: readonly string[];
  readonly namespace?: string | undefined;
}

/** The lists of a kubeconfig, and under which member of an entry its content stands. */
export const LISTS = { clusters: 'cluster', users: 'user', contexts: 'context' } as const;
export type ListName = keyof typeof LISTS;
export type Entry = { readonly name: string } & Readonly<Record<string, unknown>>;
export type Entries = Readonly<Record<ListName, readonly Entry[]>>;

/** By this an entry is known to be ours: kubectl keeps extensions that it does not know. */
const EXTENSION = 'stonegate.dev';
const EXTENSIONS = [{ name: EXTENSION, extension: { provider: EXTENSION } }];

/** @param command what kubectl runs */
export function entriesOf(cluster: ClusterFacts, accesses: readonly Access[], command: string): Entries {
  const { name, server, ca } = cluster;
  const authority = ca && { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return {
    clusters: [{ name, cluster: { server, ...authority, extensions: EXTENSIONS } }],
    users: accesses.map((access) => ({
      name: access.name,
      user: { exec: execOf(command, access.args), extensions: EXTENSIONS },
    })),
    contexts: accesses.map((access) => ({
      name: access.name,
      context: {
        cluster: name,
        user: access.name,
        ...(access.namespace !== undefined && { namespace: access.namespace }),
        extensions: EXTENSIONS,
      },
    })),
  };
}

function execOf(command: string, args: readonly string[]) {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command,
    args,
    interactiveMode: 'IfAvailable',
    provideClusterInfo: false,
    installHint: 'stonegate is needed to log in: put it on your PATH',
  };
}

/** @param content of an entry, under its list's member */
export function isOurs(content: unknown): boolean {
  if (typeof content !== 'object' || content === null || !('extensions' in content)) return false;
  const { extensions } = content;
  return Array.isArray(extensions) && extensions.some((each: unknown) => isExtension(each));
}

function isExtension(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'name' in value && value.name === EXTENSION;
}

/** A name of these parts; empty where nothing of them is left. */
export function nameOf(...parts: readonly string[]): string {
  return parts
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
}

/**
 * The kubeconfig entries that Stonegate gives its users, in the portal and with `stonegate kubeconfig`: a
 * cluster, and users with their contexts, who log in with `stonegate login` or have an access token.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */

export interface KubeconfigCluster {
  readonly name: string;
  readonly server: string;
  /** PEM; undefined: the system's CAs. */
  readonly ca: string | undefined;
  /** The portal, where users get the `stonegate` command; undefined if it is not known. */
  readonly portalURL?: string | undefined;
}

export interface KubeconfigAccess {
  /** The name of user and context. */
  readonly name: string;
  /** The arguments of `stonegate`. */
  readonly args: readonly string[];
  /** An access token, in place of the login. */
  readonly token?: string | undefined;
  /** The file of one; then there is no secret in the kubeconfig. */
  readonly tokenFile?: string | undefined;
  readonly namespace?: string | undefined;
}

export type KubeconfigEntry = { readonly name: string } & Readonly<Record<string, unknown>>;
export type KubeconfigEntries = Readonly<
  Record<'clusters' | 'users' | 'contexts', readonly KubeconfigEntry[]>
>;

/** Marks entries created by Stonegate; kubectl keeps unknown extensions. */
export const KUBECONFIG_EXTENSION = 'stonegate.dev';

/** @param command the program that kubectl runs */
export function kubeconfigEntries(
  { name, server, ca, portalURL }: KubeconfigCluster,
  accesses: readonly KubeconfigAccess[],
  command = 'stonegate',
): KubeconfigEntries {
  const extensions = [{ name: KUBECONFIG_EXTENSION, extension: { provider: KUBECONFIG_EXTENSION } }];
  const authority = ca && { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return {
    clusters: [{ name, cluster: { server, ...authority, extensions } }],
    users: accesses.map(({ name: user, args, token, tokenFile }) => ({
      name: user,
      user: {
        ...(tokenFile !== undefined
          ? { tokenFile }
          : token !== undefined
            ? { token }
            : { exec: execOf(command, args, portalURL) }),
        extensions,
      },
    })),
    contexts: accesses.map(({ name: user, namespace }) => ({
      name: user,
      context: { cluster: name, user, ...(namespace !== undefined && { namespace }), extensions },
    })),
  };
}

function execOf(command: string, args: readonly string[], portalURL: string | undefined) {
  const place = portalURL === undefined ? 'put it on your PATH' : `get it at ${portalURL}`;
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command,
    args,
    interactiveMode: 'IfAvailable',
    provideClusterInfo: false,
    installHint: `stonegate is needed to log in: ${place}`,
  };
}

/**
 * Joins the parts to a name of letters, digits and dashes: `kubectl config set` reads a dot as a separator.
 * May be empty.
 */
export function kubeconfigName(...parts: readonly string[]): string {
  return parts
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
}

/**
 * One access per Keystone project. Projects whose names give the same name are distinguished by their ids.
 *
 * @param first the beginning of each name
 */
export function accessPerProject(
  first: string,
  projects: readonly {
    readonly id: string;
    readonly name: string;
    readonly namespace?: string | undefined;
  }[],
  args: readonly string[],
): KubeconfigAccess[] {
  const taken = new Set<string>();
  return projects.map(({ id, name, namespace }) => {
    const plain = kubeconfigName(name);
    const own =
      plain === '' || taken.has(plain) ? `${first}-${kubeconfigName(plain, id)}` : `${first}-${plain}`;
    taken.add(plain);
    return { name: own, args: [...args, `--os-project-id=${id}`], namespace };
  });
}

/**
 * Warns about role bindings in Arktos' system tenant: for a user of the system tenant, each applies in the
 * namespace of the same name of every tenant, which few operators intend.
 */
import type { Binding } from '../api/kubernetes-object.ts';
import type { ClusterObjects } from './ports.ts';

/** Prefix of the user names that Stonegate sends for users of the system tenant. */
const STONEGATE_USER = /^[^:]+:stonegate:/;
const ALL_USERS: ReadonlySet<string> = new Set(['system:authenticated', 'system:unauthenticated']);

/**
 * @returns one line for each binding that counts in every tenant
 * @throws StatusError as `ClusterObjects.list` does
 */
export async function systemBindingWarnings(
  objects: Pick<ClusterObjects, 'list'>,
  systemTenant: string,
  signal: AbortSignal,
): Promise<string[]> {
  const bindings = await objects.list('RoleBinding', { tenant: systemTenant }, '', signal);
  return bindings.filter(hasUserSubjects).map(({ metadata: { name, namespace = '' } }) => {
    return `the RoleBinding ${namespace}/${name} of the tenant ${systemTenant} counts in the namespace ${namespace} of every tenant`;
  });
}

/** Subjects of the API server's own components are left out: every cluster has such bindings. */
function hasUserSubjects({ subjects }: Pick<Binding, 'subjects'>): boolean {
  return subjects.some(
    ({ kind, name }) =>
      (kind === 'User' || kind === 'Group') &&
      (!name.startsWith('system:') || STONEGATE_USER.test(name) || ALL_USERS.has(name)),
  );
}

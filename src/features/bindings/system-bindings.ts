/**
 * Warns about role bindings that few operators intend. In Arktos' system tenant, each applies for a user of
 * the system tenant in the namespace of the same name of every tenant. In shared mode the admission webhook
 * judges nothing in some namespaces of the cluster, so no tenant should have rights there.
 */

import { KINDS } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { TENANT_GROUP_PREFIX } from '../../kubernetes/reserved-names.ts';
import { type StoredBinding, storedBinding } from './managed-object.ts';

/** Prefix of the user names that Stonegate sends for users of the system tenant. */
const STONEGATE_USER = /^[^:]+:stonegate:/;
const ALL_USERS: ReadonlySet<string> = new Set(['system:authenticated', 'system:unauthenticated']);

/**
 * @returns one line for each binding that counts in every tenant
 * @throws StatusError as `Objects.list` does
 */
export async function systemBindingWarnings(
  objects: Pick<Objects, 'list'>,
  systemTenant: string,
  signal: AbortSignal,
): Promise<string[]> {
  const bindings = await objects.list(KINDS.RoleBinding, { tenant: systemTenant }, '', signal, storedBinding);
  return bindings.filter(hasUserSubjects).map(({ metadata: { name, namespace = '' } }) => {
    return `the RoleBinding ${namespace}/${name} of the tenant ${systemTenant} applies in the namespace ${namespace} of every tenant`;
  });
}

/** Where the cluster and the webhook itself run: their pods must start without the webhook. */
export const UNJUDGED_NAMESPACES: readonly string[] = ['kube-system', 'stonegate'];

/**
 * @returns one line for each binding of a tenant's group where the admission webhook judges nothing
 * @throws StatusError as `Objects.list` does
 */
export async function unjudgedTenantWarnings(
  objects: Pick<Objects, 'list'>,
  signal: AbortSignal,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const namespace of UNJUDGED_NAMESPACES)
    for (const { metadata, subjects } of await objects.list(
      KINDS.RoleBinding,
      { namespace },
      '',
      signal,
      storedBinding,
    )) {
      const group = subjects.find(
        ({ kind, name }) => kind === 'Group' && name.startsWith(TENANT_GROUP_PREFIX),
      );
      if (group !== undefined)
        warnings.push(
          `the RoleBinding ${namespace}/${metadata.name} is for ${group.name}: the admission webhook judges nothing in ${namespace}, privileged pods neither`,
        );
    }
  return warnings;
}

/** Subjects of the API server's own components are left out: every cluster has such bindings. */
function hasUserSubjects({ subjects }: Pick<StoredBinding, 'subjects'>): boolean {
  return subjects.some(
    ({ kind, name }) =>
      (kind === 'User' || kind === 'Group') &&
      (!name.startsWith('system:') || STONEGATE_USER.test(name) || ALL_USERS.has(name)),
  );
}

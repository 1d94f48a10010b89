/**
 * The last look before anybody is bound: the namespace, or the tenant, must still be the one that Stonegate made for
 * that very project or domain. Between this look and the binding somebody may put another in its place, so it is looked
 * at once more afterwards: its uid tells.
 */

import { BASIC_USER_ROLE } from '../api/cluster-roles.ts';
import type { KubernetesObject, Namespace, Tenant } from '../api/kubernetes-object.ts';
import type { ClusterObjects, Place } from './cluster-objects.ts';
import { isOurs, ownerLabels } from './managed-object.ts';

/** What a binding reaches: a namespace, or a whole tenant. */
export type Ground = Namespace | Tenant;

/** @returns undefined where there is none */
export async function groundAt(
  objects: ClusterObjects,
  { tenant, namespace }: Place,
  signal: AbortSignal,
): Promise<Ground | undefined> {
  const found =
    namespace === undefined
      ? tenant === undefined
        ? undefined
        : await objects.get({ kind: 'Tenant', name: tenant }, signal)
      : await objects.get(
          { kind: 'Namespace', name: namespace, ...(tenant !== undefined && { tenant }) },
          signal,
        );
  return found?.kind === 'Namespace' || found?.kind === 'Tenant' ? found : undefined;
}

/** @returns why nobody may be bound there; undefined where it may be */
export function groundProblem(ground: Ground | undefined, binding: KubernetesObject): string | undefined {
  if (ground === undefined) return 'there is nothing that Stonegate made to bind it in';
  const { metadata, kind } = ground;
  if (metadata.deletionTimestamp !== undefined) return `${nameOf(ground)} is being deleted`;
  // Asking what one may do is everybody's right, in every tenant.
  if (kind === 'Tenant' && 'roleRef' in binding && binding.roleRef.name === BASIC_USER_ROLE) return undefined;
  const [its, wanted] = [ownerLabels(metadata), ownerLabels(binding.metadata)];
  const same =
    kind === 'Namespace'
      ? its.projectID !== undefined && its.projectID === wanted.projectID
      : its.domainID !== undefined && its.domainID === wanted.domainID;
  return isOurs(ground) && same ? undefined : `${nameOf(ground)} was not made by Stonegate for it`;
}

function nameOf({ kind, metadata }: Ground): string {
  return `the ${kind.toLowerCase()} ${metadata.name}`;
}

/**
 * Whether a list or watch of all namespaces is sent namespace by namespace: only if the user may not have it
 * for the whole cluster, but in some namespaces. The index selects the namespaces; the API server authorizes
 * the request to each.
 */
import { createHash } from 'node:crypto';
import type { ResourceQuestion, SubjectByNamespace } from '../../rbac/attributes.ts';
import type { Change } from '../../rbac/change.ts';
import { allows } from '../../rbac/decide.ts';
import { namespacesAllowed } from '../../rbac/enumerate.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { intersects } from '../../rbac/subject-key.ts';
import { keysOfSubject } from '../subject-changes.ts';

export type AllNamespacesQuestion = Pick<ResourceQuestion, 'verb' | 'apiGroup' | 'resource' | 'tenant'>;

/**
 * @returns the namespaces in the order of their names, perhaps none; undefined if the user may list or watch
 *   the resource in the whole cluster, in Arktos in the whole tenant
 */
export function permittedNamespaces(
  index: RBACIndex,
  subject: SubjectByNamespace,
  question: AllNamespacesQuestion,
): readonly string[] | undefined {
  const resource = { ...question, subresource: '' };
  if (allows(index, subject.cluster, { ...resource, namespace: '', name: '' })) return undefined;
  return namespacesAllowed(index, subject, { ...resource, name: '' });
}

/** Whether a change may make other namespaces permitted. */
export function isConcerned(
  change: Change,
  subject: SubjectByNamespace,
  { tenant }: AllNamespacesQuestion,
): boolean {
  if (change.kind === 'namespace') return change.type !== 'MODIFIED' && change.tenant === tenant;
  return change.tenant === subject.cluster.tenant && intersects(change.subjects, keysOfSubject(subject));
}

/** Equal for the same namespaces. */
export function digestOfNamespaces(names: readonly string[]): string {
  return createHash('sha256').update(names.join('/')).digest('base64url').slice(0, 22);
}

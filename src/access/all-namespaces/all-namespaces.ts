/**
 * Whether a list or watch of all namespaces is sent namespace by namespace: only if the user may not have it
 * for the whole cluster, but in some namespaces. The index selects the namespaces; the API server authorizes
 * the request to each.
 */
import { createHash } from 'node:crypto';
import { type ResourceQuestion, type SubjectByNamespace, subjectIn } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import { isAllowedIn, namespacesAllowed } from '../../rbac/enumerate.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { keysOfSubject } from '../subject-changes.ts';
import type { WatchConcerns } from './watch-decisions.ts';

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

/** Whether a namespace may be one of them, for a user who may not have the whole cluster. */
export function isPermittedIn(
  index: RBACIndex,
  subject: SubjectByNamespace,
  question: AllNamespacesQuestion,
  namespace: string,
): boolean {
  if (!index.objectsOf(question.tenant).namespaces.has(namespace)) return false;
  const asked = { ...question, subresource: '', name: '' } as const;
  return isAllowedIn(index, subjectIn(subject, namespace), asked, namespace);
}

/** The changes that may make other namespaces permitted. */
export function concernsOf(subject: SubjectByNamespace, { tenant }: AllNamespacesQuestion): WatchConcerns {
  return { access: { tenant: subject.cluster.tenant, keys: keysOfSubject(subject) }, tenant };
}

/** Equal for the same namespaces. */
export function digestOfNamespaces(names: readonly string[]): string {
  return createHash('sha256').update(names.join('/')).digest('base64url').slice(0, 22);
}

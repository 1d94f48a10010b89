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

/** Namespaces of which the index does not know it, and which are requested as well. */
const MAX_UNDECIDED = 50;

/**
 * @param most how many are requested: namespaces of which the index does not know it only if there is room
 * @returns the namespaces in the order of their names, perhaps none; undefined if the user may list or watch
 *   the resource in the whole cluster, in Arktos in the whole tenant
 */
export function permittedNamespaces(
  index: RBACIndex,
  subject: SubjectByNamespace,
  question: AllNamespacesQuestion,
  most: number,
): readonly string[] | undefined {
  const resource = { ...question, subresource: '' };
  if (allows(index, subject.cluster, { ...resource, namespace: '', name: '' })) return undefined;
  const allowed = namespacesAllowed(index, subject, { ...resource, name: '' }, 'visible');
  const undecided = index.undecidedNamespaces(subject);
  if (undecided.length === 0) return allowed;
  const existing = index.objectsOf(question.tenant).namespaces;
  const known = new Set(allowed);
  const others = undecided.filter((name) => existing.has(name) && !known.has(name));
  const room = Math.max(0, Math.min(MAX_UNDECIDED, most - allowed.length));
  return [...allowed, ...others.slice(0, room)].sort();
}

/** Whether a namespace may be one of them, for a user who may not have the whole cluster. */
export function isPermittedIn(
  index: RBACIndex,
  subject: SubjectByNamespace,
  question: AllNamespacesQuestion,
  namespace: string,
): boolean {
  if (!index.objectsOf(question.tenant).namespaces.has(namespace)) return false;
  const user = subjectIn(subject, namespace);
  const asked = { ...question, subresource: '', name: '' } as const;
  if (isAllowedIn(index, user, asked, namespace, 'visible')) return true;
  return index.isUndecided(user, namespace);
}

/** The changes that may make other namespaces permitted. */
export function concernsOf(subject: SubjectByNamespace, { tenant }: AllNamespacesQuestion): WatchConcerns {
  return { access: { tenant: subject.cluster.tenant, keys: keysOfSubject(subject) }, tenant };
}

/** Equal for the same namespaces. */
export function digestOfNamespaces(names: readonly string[]): string {
  return createHash('sha256').update(names.join('/')).digest('base64url').slice(0, 22);
}

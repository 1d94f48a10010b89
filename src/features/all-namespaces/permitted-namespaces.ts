/**
 * Whether a list or watch of all namespaces is sent namespace by namespace: only if the user may not have it
 * for the whole cluster, but in some namespaces. The index selects the namespaces; the API server authorizes
 * the request to each.
 */

import type { ResourceQuestion } from '../../kubernetes/authorizer-attributes.ts';
import { contentDigits } from '../../kubernetes/lists/shown-revision.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import { namespacesAllowed } from '../../rbac/enumerate.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';

export type AllNamespacesQuestion = Pick<ResourceQuestion, 'apiGroup' | 'resource' | 'tenant'>;

export interface PermittedNamespaces {
  /** The namespaces in which the user may list, sorted; at least one. */
  readonly names: readonly string[];
  /** A hash of them. */
  readonly digits: string;
}

/**
 * Lists and watches share it, so that a client watches the namespaces that its list showed.
 *
 * @returns `unfiltered` if the user may list in the whole cluster; undefined if in no namespace
 */
export function permittedNamespaces(
  index: RBACIndex,
  subject: SubjectByNamespace,
  question: AllNamespacesQuestion,
): PermittedNamespaces | 'unfiltered' | undefined {
  const asked = { ...question, subresource: '', name: '' } as const;
  if (allows(index, subject.cluster, { ...asked, verb: 'list', namespace: '' })) return 'unfiltered';
  const names = namespacesAllowed(index, subject, { ...asked, verb: 'list' }, 'visible');
  return names.length === 0 ? undefined : { names, digits: contentDigits(names) };
}

/**
 * Whether the user may watch in all of the namespaces. If not, the API server refuses the watch: what a
 * client has of the others would be out of date for ever.
 */
export function mayWatchIn(
  index: RBACIndex,
  subject: SubjectByNamespace,
  question: AllNamespacesQuestion,
  { names }: PermittedNamespaces,
): boolean {
  const asked = { ...question, subresource: '', name: '', verb: 'watch' } as const;
  const watched = new Set(namespacesAllowed(index, subject, asked));
  return names.every((name) => watched.has(name));
}

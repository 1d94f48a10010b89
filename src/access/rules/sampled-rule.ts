/**
 * One decision of an access rules document, to be compared with the API server: that a rule of it allows what
 * it says, or, as often, what the index says of the same request in another namespace.
 */
import type { AccessRules, RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import { type SubjectByNamespace, subjectIn } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import type { Draw, SampledDecision } from '../verification.ts';

/** @returns undefined if the document has no rule where one was looked for */
export function sampledRule(
  index: RBACIndex,
  subject: SubjectByNamespace,
  { everywhere, cluster, namespaces }: AccessRules,
  selection: Pick<RulesSelection, 'verb'>,
  draw: Draw,
): SampledDecision | undefined {
  const place = draw([{ names: [''], rules: [...everywhere, ...cluster] }, ...namespaces]);
  const found = place && draw(place.names);
  const rule = place && draw(place.rules);
  if (found === undefined || rule === undefined) return undefined;
  const { tenant } = subject.cluster;
  const others = draw([true, false]) === true ? [...index.objectsOf(tenant).namespaces.keys()] : [];
  const namespace = draw(others) ?? found;
  const [resource = '', subresource = ''] = (draw(rule.resources) ?? '').split('/', 2);
  const question = {
    verb: draw(rule.verbs ?? [selection.verb]) ?? '',
    apiGroup: draw(rule.apiGroups) ?? '',
    resource,
    subresource,
    namespace,
    name: draw(rule.resourceNames ?? []) ?? '',
    tenant,
  };
  const user = subjectIn(subject, namespace);
  return { user, question, allowed: namespace === found || allows(index, user, question) };
}

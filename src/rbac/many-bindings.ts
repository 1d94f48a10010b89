/**
 * Whether the bindings of one subject in one place allow a request. A group such as `system:authenticated`
 * may have thousands in a namespace, and a change there is decided for thousands of users: it is computed
 * once for all of them, until a role or binding of the tenant changes.
 */
import type { StoredRole } from '../api/rbac-v1.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Question } from './attributes.ts';
import { ruleAllows } from './rules.ts';
import type { SortedBindings } from './sorted-bindings.ts';
import type { SubjectKey } from './subject-key.ts';
import type { TenantObjects } from './tenant-objects.ts';

/** Bindings that are looked at each time. */
const FEW = 32;
const MAX_RESULTS = 10_000;

/** Computed for one version of the objects. */
interface Results {
  version: number;
  readonly byQuestion: Map<string, boolean>;
}

const resultsOf = memoizeByReference(
  (_objects: TenantObjects): Results => ({ version: -1, byQuestion: new Map() }),
);

/**
 * @param bindings of the subject in the place
 * @param namespace the place; empty for the ClusterRoleBindings
 */
export function anyAllows(
  objects: TenantObjects,
  bindings: SortedBindings,
  question: Question,
  key: SubjectKey,
  namespace: string,
): boolean {
  if (bindings.length <= FEW) return evaluate(objects, bindings, question);
  const results = resultsOf(objects);
  if (results.version !== objects.version || results.byQuestion.size >= MAX_RESULTS) {
    results.byQuestion.clear();
    results.version = objects.version;
  }
  const asked = JSON.stringify([namespace, key, question]);
  const known = results.byQuestion.get(asked);
  if (known !== undefined) return known;
  const allowed = evaluate(objects, bindings, question);
  results.byQuestion.set(asked, allowed);
  return allowed;
}

function evaluate(objects: TenantObjects, bindings: SortedBindings, question: Question): boolean {
  const refused = new Set<StoredRole>();
  for (const binding of bindings) {
    const role = objects.roleOf(binding);
    if (role === undefined || refused.has(role)) continue;
    if (role.rules.some((rule) => ruleAllows(rule, question))) return true;
    refused.add(role);
  }
  return false;
}

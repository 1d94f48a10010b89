/**
 * Whether the bindings of one subject in one place allow a request. A group such as `system:authenticated`
 * may have thousands in a namespace, and a change there is decided for thousands of users: what they cover is
 * computed once for all of them and for all objects, until a role or binding of the tenant changes.
 */
import type { StoredRole } from '../api/rbac-v1.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Question } from './attributes.ts';
import { type Action, type Covered, coveredByRole, roleAllows, textOfAction } from './role-allows.ts';
import type { SortedBindings } from './sorted-bindings.ts';
import type { SubjectKey } from './subject-key.ts';
import type { TenantObjects } from './tenant-objects.ts';

/** Bindings that are looked at each time. */
const FEW = 32;
const MAX_RESULTS = 10_000;
/** Of objects, in all results together. */
const MAX_NAMES = 100_000;

/** Computed for one version of the objects. */
interface Results {
  version: number;
  names: number;
  readonly covered: Map<string, Covered>;
}

const resultsOf = memoizeByReference(
  (_objects: TenantObjects): Results => ({ version: -1, names: 0, covered: new Map() }),
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
  if (bindings.length <= FEW || 'path' in question) return bindingsAllow(objects, bindings, question);
  const results = resultsOf(objects);
  const isFull = results.covered.size >= MAX_RESULTS || results.names > MAX_NAMES;
  if (results.version !== objects.version || isFull) {
    results.covered.clear();
    results.names = 0;
    results.version = objects.version;
  }
  const asked = JSON.stringify([namespace, key, textOfAction(question)]);
  const known = results.covered.get(asked);
  const covered = known ?? coverage(objects, bindings, question);
  if (known === undefined) {
    results.covered.set(asked, covered);
    results.names += covered === 'all' ? 0 : covered.size;
  }
  return covered === 'all' || covered.has(question.name);
}

/** Each role is looked at once. */
export function bindingsAllow(objects: TenantObjects, bindings: SortedBindings, question: Question): boolean {
  const refused = new Set<StoredRole>();
  for (const binding of bindings) {
    const role = objects.roleOf(binding);
    if (role === undefined || refused.has(role)) continue;
    if (roleAllows(role, question)) return true;
    refused.add(role);
  }
  return false;
}

function coverage(objects: TenantObjects, bindings: SortedBindings, action: Action): Covered {
  const names = new Set<string>();
  const seen = new Set<StoredRole>();
  for (const binding of bindings) {
    const role = objects.roleOf(binding);
    if (role === undefined || seen.has(role)) continue;
    seen.add(role);
    const covered = coveredByRole(role, action);
    if (covered === 'all') return covered;
    for (const name of covered) names.add(name);
  }
  return names;
}

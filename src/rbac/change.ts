/**
 * What a change of the indexed objects means: a namespace changed, or the access of some subjects may have.
 */
import type { StoredNamespace, StoredObject, StoredRole } from '../kubernetes/rbac-v1.ts';
import { TENANT_KEY } from '../kubernetes/reserved-names.ts';
import { keysOfBinding, type SubjectKey } from './subject-key.ts';
import { isBinding, type TenantObjects } from './tenant-objects.ts';

export interface NamespaceChange {
  readonly kind: 'namespace';
  /** `RELABELLED`: modified, and labelled as another tenant's than before. */
  readonly type: 'ADDED' | 'MODIFIED' | 'RELABELLED' | 'DELETED';
  /** The last known state if it is deleted. */
  readonly namespace: StoredNamespace;
  readonly tenant: string;
  /** The revision of the change. */
  readonly revision: number;
}

/** The access of these subjects in these namespaces may differ from before. */
export interface AccessChange {
  readonly kind: 'access';
  /** The tenant whose bindings changed. */
  readonly tenant: string;
  readonly revision: number;
  readonly subjects: ReadonlySet<SubjectKey>;
  /** `''` stands for all namespaces and the cluster. */
  readonly namespaces: ReadonlySet<string>;
}

export type Change = NamespaceChange | AccessChange;

/**
 * @param before as it was; undefined if the object is new
 * @param after as it is now; undefined if the object is deleted
 * @param objects of the object's tenant; of a role, its bindings
 * @returns undefined if the change concerns neither a namespace nor the access of a subject
 */
export function changeBetween(
  before: StoredObject | undefined,
  after: StoredObject | undefined,
  revision: number,
  objects: TenantObjects,
): Change | undefined {
  const object = after ?? before;
  if (object === undefined) return undefined;
  const { tenant } = object;
  if (object.resource === 'namespaces') {
    return { kind: 'namespace', type: typeOf(before, after), namespace: object, tenant, revision };
  }
  const concerned = isBinding(object)
    ? concernedByBinding(before, after)
    : concernedByRole(before, after, object, objects);
  return concerned.subjects.size === 0 ? undefined : { kind: 'access', tenant, revision, ...concerned };
}

function typeOf(before: StoredObject | undefined, after: StoredObject | undefined): NamespaceChange['type'] {
  if (after === undefined) return 'DELETED';
  if (before === undefined) return 'ADDED';
  return tenantLabelOf(before) === tenantLabelOf(after) ? 'MODIFIED' : 'RELABELLED';
}

function tenantLabelOf(object: StoredObject): string | undefined {
  return object.resource === 'namespaces' ? object.labels[TENANT_KEY] : undefined;
}

interface Concerned {
  readonly subjects: ReadonlySet<SubjectKey>;
  readonly namespaces: ReadonlySet<string>;
}

const NONE: Concerned = { subjects: new Set(), namespaces: new Set() };

/** If a binding stays with its role, the change concerns only the subjects that come or go. */
function concernedByBinding(before: StoredObject | undefined, after: StoredObject | undefined): Concerned {
  const bindings = [before, after].filter((object) => object !== undefined).filter(isBinding);
  const [one, other] = bindings;
  if (one === undefined) return NONE;
  const keys = keysOfBinding(one);
  if (other === undefined) return { subjects: keys, namespaces: new Set([one.namespace]) };
  const others = keysOfBinding(other);
  const isSameRole = one.roleRef.kind === other.roleRef.kind && one.roleRef.name === other.roleRef.name;
  const all = [...new Set([...keys, ...others])];
  const concerned = isSameRole ? all.filter((key) => !keys.has(key) || !others.has(key)) : all;
  return { subjects: new Set(concerned), namespaces: new Set([one.namespace]) };
}

function concernedByRole(
  before: StoredObject | undefined,
  after: StoredObject | undefined,
  role: StoredRole,
  objects: TenantObjects,
): Concerned {
  if (before !== undefined && after !== undefined && rulesOf(before) === rulesOf(after)) return NONE;
  const bindings = [...objects.bindingsOfRole(role)];
  return {
    subjects: new Set(bindings.flatMap((binding) => [...keysOfBinding(binding)])),
    namespaces: new Set(bindings.map(({ namespace }) => namespace)),
  };
}

function rulesOf(object: StoredObject): string {
  return 'rules' in object ? JSON.stringify(object.rules) : '';
}

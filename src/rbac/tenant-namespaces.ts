/**
 * What is a tenant's if the API server has no tenants: the namespaces that carry no other tenant's label, by
 * the RBAC index. Without a current index no namespace is known to be the tenant's.
 */

import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import type { StoredNamespace } from '../kubernetes/rbac-v1.ts';
import { AUTHENTICATED, TENANT_KEY } from '../kubernetes/reserved-names.ts';
import type { AccessIndex } from './access-index.ts';
import { READ_VERBS } from './cluster-roles.ts';
import { grantsOf } from './decide.ts';
import { intersectionOf } from './rules.ts';
import type { TenantObjects } from './tenant-objects.ts';

export interface TenantNamespaces {
  /** Whether the index is current. */
  readonly isKnown: boolean;
  /** A namespace that the index does not have yet is not included. */
  includes(namespace: string): boolean;
  names(): string[];
  /** What everybody may read in the whole cluster. The array is the same one as long as its rules are. */
  readByEverybody(): readonly PolicyRule[];
}

const NO_RULES: readonly PolicyRule[] = [];
const EVERYBODY = { tenant: '', username: '', groups: [AUTHENTICATED] };
const READ = { verbs: READ_VERBS, apiGroups: ['*'], resources: ['*'] };

/** @param access undefined if the configuration has no index */
export function createTenantNamespaces(
  access: Pick<AccessIndex, 'state' | 'index'> | undefined,
): (tenant: string) => TenantNamespaces {
  let read: { readonly objects: TenantObjects; readonly version: number; readonly rules: typeof NO_RULES };

  function current(): TenantObjects | undefined {
    return access?.state('') === 'current' ? access.index.objectsOf('') : undefined;
  }

  function readByEverybody(): typeof NO_RULES {
    const objects = current();
    if (objects === undefined) return NO_RULES;
    const { version } = objects;
    if (read?.objects !== objects || read.version !== version) {
      const grants = [...grantsOf(objects, EVERYBODY, '', new Set())];
      const rules = grants.flatMap(({ role }) =>
        role.rules.flatMap((rule) => intersectionOf(rule, READ) ?? []),
      );
      read = { objects, version, rules };
    }
    return read.rules;
  }

  return (tenant) => {
    const isOfTenant = ({ labels }: StoredNamespace) => (labels[TENANT_KEY] ?? tenant) === tenant;
    return {
      get isKnown() {
        return current() !== undefined;
      },
      includes(name) {
        const namespace = current()?.namespaces.get(name);
        return namespace !== undefined && isOfTenant(namespace);
      },
      names: () => [...(current()?.namespaces.values() ?? [])].filter(isOfTenant).map(({ name }) => name),
      readByEverybody,
    };
  };
}

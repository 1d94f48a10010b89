/**
 * The compiled access rules of users, cached within one bound of memory. A change of any role or binding of
 * the tenant is a reason to compile them anew.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ACCESS_RULES_BYTES } from '../../limits/memory-bounds.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { fingerprintOfSubject } from '../../rbac/subject-changes.ts';
import type { TenantObjects } from '../../rbac/tenant-objects.ts';
import { type CompiledAccessRules, compileAccessRules } from './access-rules.ts';
import type { RulesSelection } from './access-rules-v1alpha1.ts';

/** Memory of a document for each character of its JSON: objects and strings. */
const BYTES_PER_CHARACTER = 4;
const ENTRY_BYTES = 500;

export interface CachedRules extends CompiledAccessRules {
  /** Equal if and only if the rules are. */
  readonly digest: string;
}

interface Entry extends CachedRules {
  readonly objects: TenantObjects;
  /** The version of the objects from which the rules were compiled. */
  readonly version: number;
  readonly bytes: number;
}

export class RulesCache {
  readonly #index: RBACIndex;
  readonly #entries = new LRUCache<string, Entry>({
    maxSize: ACCESS_RULES_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
  });

  constructor(index: RBACIndex) {
    this.#index = index;
  }

  /** @returns undefined if they are not cached */
  known(subject: SubjectByNamespace, selection: RulesSelection): CachedRules | undefined {
    const objects = this.#index.objectsOf(subject.cluster.tenant);
    const known = this.#entries.get(keyOf(subject, selection));
    return known?.objects === objects && known.version === objects.version ? known : undefined;
  }

  compile(subject: SubjectByNamespace, selection: RulesSelection): CachedRules {
    const objects = this.#index.objectsOf(subject.cluster.tenant);
    const compiled = compileAccessRules(this.#index, subject, selection);
    const text = JSON.stringify([compiled.rules, compiled.isCut]);
    const entry: Entry = {
      ...compiled,
      digest: createHash('sha256').update(text).digest('base64url'),
      objects,
      version: objects.version,
      bytes: text.length * BYTES_PER_CHARACTER + ENTRY_BYTES,
    };
    this.#entries.set(keyOf(subject, selection), entry);
    return entry;
  }
}

/** A digest, since a user may have hundreds of groups. */
function keyOf(subject: SubjectByNamespace, selection: RulesSelection): string {
  const { verb, apiGroup = null, resource = null, namespace = null } = selection;
  const facts = [fingerprintOfSubject(subject), verb, apiGroup, resource, namespace];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url');
}

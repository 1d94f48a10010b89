/**
 * The compiled access rules of users: cached for some minutes after the last use, within a bound of memory,
 * and dropped by changes of the index that concern the user.
 */
import { createHash } from 'node:crypto';
import type { AccessRules, RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import type { NamedSetConfiguration } from '../../api/config-v1alpha1.ts';
import type { Clock } from '../../lib/clock.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { Change, NamespaceChange } from '../../rbac/change.ts';
import { namespacesAllowed } from '../../rbac/enumerate.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { intersects, type SubjectKey } from '../../rbac/subject-key.ts';
import { fingerprintOfSubject, keysOfSubject, ValuesBySubject } from '../subject-changes.ts';
import { compileAccessRules } from './access-rules.ts';

/** Milliseconds after the last use. */
export const RULES_TTL = 10 * 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Memory of a document, beside its JSON: objects and strings. */
const BYTES_PER_CHARACTER = 4;
const BYTES_PER_KEY = 200;

export interface CompiledRules {
  readonly rules: AccessRules;
  /** Whether rules were left out, because they stand for too many grants. */
  readonly isTruncated: boolean;
  /** Named set → namespaces, sorted. */
  readonly sets: Readonly<Record<string, readonly string[]>>;
  /** Equal if and only if the others are. */
  readonly digest: string;
}

export interface RulesCacheOptions {
  readonly index: RBACIndex;
  readonly clock: Clock;
  readonly namedSets: readonly NamedSetConfiguration[];
  readonly maxBytes?: number;
}

interface Entry {
  readonly key: string;
  readonly compiled: CompiledRules;
  readonly tenant: string;
  /** Of the user. */
  readonly keys: ReadonlySet<SubjectKey>;
  readonly bytes: number;
  usedAt: number;
}

export class RulesCache {
  readonly #options: RulesCacheOptions;
  #maxBytes: number;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #bySubject = new ValuesBySubject<Entry>();
  readonly #unsubscribe: () => void;
  #bytes = 0;

  constructor(options: RulesCacheOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? MAX_BYTES;
    this.#unsubscribe = options.index.subscribe({ changed: (change) => this.#changed(change) });
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  rulesOf(subject: SubjectByNamespace, selection: RulesSelection): CompiledRules {
    const now = this.#options.clock.now();
    this.#expire(now);
    const key = keyOf(subject, selection);
    const known = this.#entries.get(key);
    if (known === undefined) return this.#add(key, subject, selection, now);
    known.usedAt = now;
    this.#entries.delete(key);
    this.#entries.set(key, known);
    return known.compiled;
  }

  /** Whether a change may change the rules of the subject, or its named sets. */
  concerns(change: Change, subject: SubjectByNamespace): boolean {
    const { tenant } = subject.cluster;
    if (change.tenant !== tenant) return false;
    return change.kind === 'access'
      ? intersects(change.subjects, keysOfSubject(subject))
      : this.#mayChangeSets(change);
  }

  /** Afterwards nothing is cached: an open watch may still ask. */
  stop(): void {
    this.#unsubscribe();
    this.#maxBytes = 0;
    this.#entries.clear();
    this.#bySubject.clear();
    this.#bytes = 0;
  }

  #add(key: string, subject: SubjectByNamespace, selection: RulesSelection, now: number): CompiledRules {
    const { index, namedSets } = this.#options;
    const { rules, isTruncated } = compileAccessRules(index, subject, selection);
    const { tenant } = subject.cluster;
    const sets = Object.fromEntries(
      namedSets.map(({ name, ...question }) => [
        name,
        namespacesAllowed(index, subject, { ...question, tenant, name: '' }),
      ]),
    );
    const text = JSON.stringify([rules, sets, isTruncated]);
    const compiled = {
      rules,
      sets,
      isTruncated,
      digest: createHash('sha256').update(text).digest('base64url'),
    };
    const keys = keysOfSubject(subject);
    const bytes = text.length * BYTES_PER_CHARACTER + keys.size * BYTES_PER_KEY;
    if (bytes <= this.#maxBytes) this.#insert({ key, compiled, tenant, keys, bytes, usedAt: now });
    return compiled;
  }

  #insert(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    this.#bytes += entry.bytes;
    this.#bySubject.add(entry.tenant, entry.keys, entry);
    for (const oldest of this.#entries.values()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(oldest);
    }
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.key);
    this.#bytes -= entry.bytes;
    this.#bySubject.delete(entry.tenant, entry.keys, entry);
  }

  #expire(now: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.usedAt + RULES_TTL > now) return;
      this.#remove(entry);
    }
  }

  #changed(change: Change): void {
    for (const entry of this.#concernedBy(change)) this.#remove(entry);
  }

  #concernedBy(change: Change): Iterable<Entry> {
    if (change.kind === 'access') return this.#bySubject.under(change.tenant, change.subjects);
    if (!this.#mayChangeSets(change)) return [];
    return [...this.#entries.values()].filter(({ tenant }) => tenant === change.tenant);
  }

  /** A new namespace is in a set if the user has the right everywhere. */
  #mayChangeSets({ type }: NamespaceChange): boolean {
    return this.#options.namedSets.length > 0 && type !== 'MODIFIED';
  }
}

/** A digest, since a user may have hundreds of groups. */
function keyOf(subject: SubjectByNamespace, selection: RulesSelection): string {
  const { verb, apiGroup = null, resource = null, namespace = null } = selection;
  const facts = [fingerprintOfSubject(subject), verb, apiGroup, resource, namespace];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url');
}

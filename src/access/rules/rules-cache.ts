/**
 * The compiled access rules of users: cached for some minutes after the last use, within a bound of memory,
 * and dropped by changes of the index that concern the user.
 */
import { createHash } from 'node:crypto';
import type { AccessRules, RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import type { NamedSetConfiguration } from '../../api/config-v1alpha1.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { Change, NamespaceChange } from '../../rbac/change.ts';
import { namespacesAllowed } from '../../rbac/enumerate.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import type { SubjectKey } from '../../rbac/subject-key.ts';
import { keysAllowedIn } from '../../rbac/who-can.ts';
import { ByConcern, type Concerns, fingerprintOfSubject, keysOfSubject } from '../subject-changes.ts';
import { compileInSteps } from './access-rules.ts';

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
  /** The namespaces of which all rules were left out for that. */
  readonly leftOut: readonly string[];
  /** Named set → namespaces, sorted. */
  readonly sets: Readonly<Record<string, readonly string[]>>;
  /** Equal if and only if the others are. */
  readonly digest: string;
  /** Of the JSON of all that. */
  readonly characters: number;
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
  readonly concerns: Concerns;
  readonly bytes: number;
  /** The tenant to which their memory is charged. */
  readonly account: string;
  usedAt: number;
}

interface Account {
  /** The least recently used first. */
  readonly entries: Set<Entry>;
  bytes: number;
}

interface Watch {
  readonly concerns: Concerns;
  readonly listener: () => void;
}

export class RulesCache {
  readonly #options: RulesCacheOptions;
  #maxBytes: number;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #accounts = new Map<string, Account>();
  /** Subject or namespaces → what depends on them. */
  readonly #entriesBy = new ByConcern<Entry>();
  readonly #watchesBy = new ByConcern<Watch>();
  readonly #unsubscribe: () => void;
  #bytes = 0;
  /** Fires when the least recently used entry may have expired. */
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: RulesCacheOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? MAX_BYTES;
    this.#unsubscribe = options.index.subscribe({
      changed: (change) => this.#changed(change),
      reset: (tenant) => this.#reset(tenant),
    });
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @returns undefined if they are not cached */
  known(subject: SubjectByNamespace, selection: RulesSelection): CompiledRules | undefined {
    const now = this.#options.clock.now();
    this.#expire(now);
    const known = this.#entries.get(keyOf(subject, selection));
    if (known === undefined) return undefined;
    known.usedAt = now;
    this.#entries.delete(known.key);
    this.#entries.set(known.key, known);
    const entries = this.#accounts.get(known.account)?.entries;
    entries?.delete(known);
    entries?.add(known);
    return known.compiled;
  }

  /** In one step. */
  rulesOf(subject: SubjectByNamespace, selection: RulesSelection): CompiledRules {
    const known = this.known(subject, selection);
    if (known !== undefined) return known;
    const steps = this.compileInSteps(subject, selection);
    for (;;) {
      const step = steps.next();
      if (step.done !== true) continue;
      this.store(subject, selection, step.value);
      return step.value;
    }
  }

  /** The rules as the index has them now; a step takes a few milliseconds. */
  *compileInSteps(subject: SubjectByNamespace, selection: RulesSelection): Generator<void, CompiledRules> {
    const { index, namedSets } = this.#options;
    const { rules, isTruncated, leftOut } = yield* compileInSteps(index, subject, selection);
    const { tenant } = subject.cluster;
    const sets: Record<string, readonly string[]> = {};
    for (const { name, ...question } of namedSets) {
      yield;
      sets[name] = namespacesAllowed(index, subject, { ...question, tenant, name: '' });
    }
    const text = JSON.stringify([rules, sets, isTruncated]);
    return {
      rules,
      sets,
      isTruncated,
      leftOut,
      characters: text.length,
      digest: createHash('sha256').update(text).digest('base64url'),
    };
  }

  /** @param compiled while no change concerned the subject */
  store(subject: SubjectByNamespace, selection: RulesSelection, compiled: CompiledRules): void {
    const key = keyOf(subject, selection);
    const before = this.#entries.get(key);
    if (before !== undefined) this.#remove(before);
    const concerns = concernsOf(subject);
    const bytes = compiled.characters * BYTES_PER_CHARACTER + concerns.keys.size * BYTES_PER_KEY;
    const usedAt = this.#options.clock.now();
    const account = accountOf(subject);
    if (bytes <= this.#maxBytes) this.#insert({ key, compiled, concerns, bytes, account, usedAt });
  }

  /**
   * Calls the listener after each change that may change the rules of the subject, or its named sets. A
   * change that concerns no watch costs the same, however many there are.
   *
   * @returns a function that ends the subscription
   */
  watch(subject: SubjectByNamespace, listener: () => void): () => void {
    const watch = { concerns: concernsOf(subject), listener };
    this.#watchesBy.add(watch);
    return () => {
      this.#watchesBy.delete(watch);
      if (this.#isStopped) this.#leaveIndex();
    };
  }

  /** Afterwards nothing is cached. Open watches are told of changes until they end. */
  stop(): void {
    this.#isStopped = true;
    this.#maxBytes = 0;
    this.#entries.clear();
    this.#accounts.clear();
    this.#entriesBy.clear();
    this.#bytes = 0;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#leaveIndex();
  }

  #leaveIndex(): void {
    if (this.#watchesBy.isEmpty) this.#unsubscribe();
  }

  #insert(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    this.#bytes += entry.bytes;
    this.#entriesBy.add(entry);
    const account = this.#accounts.get(entry.account) ?? { entries: new Set(), bytes: 0 };
    this.#accounts.set(entry.account, account);
    account.entries.add(entry);
    account.bytes += entry.bytes;
    this.#timer ??= this.#expireAfter(RULES_TTL);
    while (this.#bytes > this.#maxBytes) this.#removeOneOfLargest();
  }

  /** Of the tenant that has most: no tenant displaces the rules of a smaller one. */
  #removeOneOfLargest(): void {
    let largest: Account | undefined;
    for (const account of this.#accounts.values())
      if (largest === undefined || account.bytes > largest.bytes) largest = account;
    for (const oldest of largest?.entries ?? []) {
      this.#remove(oldest);
      return;
    }
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.key);
    this.#bytes -= entry.bytes;
    this.#entriesBy.delete(entry);
    const account = this.#accounts.get(entry.account);
    if (account === undefined) return;
    account.entries.delete(entry);
    account.bytes -= entry.bytes;
    if (account.entries.size === 0) this.#accounts.delete(entry.account);
  }

  #expire(now: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.usedAt + RULES_TTL > now) return;
      this.#remove(entry);
    }
  }

  #expireAfter(milliseconds: number): Timer {
    const { clock } = this.#options;
    return clock.after(milliseconds, () => {
      const now = clock.now();
      this.#expire(now);
      const [oldest] = this.#entries.values();
      this.#timer = oldest && this.#expireAfter(oldest.usedAt + RULES_TTL - now);
    });
  }

  #changed(change: Change): void {
    const { tenant } = change;
    if (!this.#entriesBy.has(tenant) && !this.#watchesBy.has(tenant)) return;
    const keys = change.kind === 'access' ? change.subjects : this.#keysWithNamespace(change);
    for (const entry of this.#entriesBy.concernedBy({ tenant, keys })) this.#remove(entry);
    for (const { listener } of this.#watchesBy.concernedBy({ tenant, keys })) listener();
  }

  #reset(tenant: string): void {
    for (const entry of this.#entriesBy.ofTenant(tenant)) this.#remove(entry);
    for (const { listener } of this.#watchesBy.ofTenant(tenant)) listener();
  }

  /** Of the users in whose named sets a namespace comes or goes: those whom it allows the sets' verbs. */
  #keysWithNamespace({ type, tenant, namespace: { name } }: NamespaceChange): ReadonlySet<SubjectKey> {
    const { index, namedSets } = this.#options;
    const keys = new Set<SubjectKey>();
    if (type === 'MODIFIED') return keys;
    for (const { name: _, ...question } of namedSets)
      for (const key of keysAllowedIn(index.objectsOf(tenant), { ...question, name: '' }, name))
        keys.add(key);
    return keys;
  }
}

function concernsOf(subject: SubjectByNamespace): Concerns {
  return { tenant: subject.cluster.tenant, keys: keysOfSubject(subject) };
}

/** The tenant to which the memory and the evaluations of a user's rules are charged. */
export function accountOf({ cluster: { home, tenant } }: SubjectByNamespace): string {
  return home ?? tenant;
}

/** A digest, since a user may have hundreds of groups. */
function keyOf(subject: SubjectByNamespace, selection: RulesSelection): string {
  const { verb, apiGroup = null, resource = null, namespace = null } = selection;
  const facts = [fingerprintOfSubject(subject), verb, apiGroup, resource, namespace];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url');
}

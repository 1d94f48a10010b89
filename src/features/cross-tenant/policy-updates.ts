/**
 * Keeps the policies in force current: they are resolved again soon after a fact has changed, when facts are
 * not current any more, and when a policy ends.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Clock, runAt, type Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { PolicyForm } from '../../proxy/tenant-entry.ts';
import type { PoliciesInForce } from './policies-in-force.ts';
import { createPolicySet } from './policy-set.ts';
import type { PolicyFacts, PolicyFactsSource } from './ports.ts';
import type { PolicyStatus, ResolvedPolicies } from './resolve.ts';

/** Milliseconds after a change: several that follow each other are resolved once. */
const DEBOUNCE = 50;
/** Milliseconds between two resolutions because of the time, at least. */
const SHORTEST_WAIT = 100;
/** After a resolution the next one waits this many times its duration, however often policies change. */
const REST = 10;
/** Milliseconds: a policy that is withdrawn grants nothing within a second. */
const LONGEST_REST = 500;

export interface PolicyUpdatesOptions {
  readonly source: PolicyFactsSource;
  /** @param now milliseconds since the epoch */
  readonly resolve: (facts: PolicyFacts, now: number) => ResolvedPolicies;
  readonly inForce: PoliciesInForce;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The policies and what they follow from, at one moment. */
export interface PolicySnapshot extends ResolvedPolicies {
  readonly facts: PolicyFacts;
  /** The forms of which all facts are current. */
  readonly forms: ReadonlySet<PolicyForm>;
}

export class PolicyUpdates {
  readonly #options: PolicyUpdatesOptions;
  readonly #callbacks = new Set<() => void>();
  #unsubscribe: (() => void) | undefined;
  #debounce: Timer | undefined;
  #timer: Timer | undefined;
  #snapshot: PolicySnapshot | undefined;
  /** Milliseconds since the epoch. */
  #restsUntil = 0;
  /** What was told last, to compare. */
  #notReady = '';

  constructor(options: PolicyUpdatesOptions) {
    this.#options = options;
  }

  /** Undefined before `start`. */
  get snapshot(): PolicySnapshot | undefined {
    return this.#snapshot;
  }

  start(): void {
    this.#unsubscribe = this.#options.source.onUpdate(() => this.#updateSoon());
    this.#update();
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#debounce?.cancel();
    this.#timer?.cancel();
  }

  /** Called after each change of the snapshot that matters to tenants' objects. @returns ends the calls */
  onChange(call: () => void): () => void {
    const callback = () => call();
    this.#callbacks.add(callback);
    return () => {
      this.#callbacks.delete(callback);
    };
  }

  #updateSoon(): void {
    const { clock } = this.#options;
    this.#debounce ??= clock.after(Math.max(DEBOUNCE, this.#rest(clock.now())), () => this.#update());
  }

  /** @returns milliseconds, even if the clock was set back */
  #rest(now: number): number {
    return Math.min(Math.max(0, this.#restsUntil - now), LONGEST_REST);
  }

  #update(): void {
    this.#debounce?.cancel();
    this.#debounce = undefined;
    const { source, resolve, inForce, clock } = this.#options;
    const now = clock.now();
    const facts = source.facts();
    const forms = source.currentForms();
    const resolved = resolve(facts, now);
    this.#tellOfForms(this.#snapshot?.forms ?? forms, forms);
    this.#tellOfConfiguration(resolved.statuses);
    const previous = this.#snapshot;
    this.#snapshot = { ...resolved, facts, forms };
    const arePoliciesSame = isDeepStrictEqual(resolved.policies, previous?.policies);
    if (!arePoliciesSame) inForce.replace(createPolicySet(resolved.policies));
    if (!arePoliciesSame || previous === undefined || !isSame(this.#snapshot, previous))
      for (const call of [...this.#callbacks]) call();
    const end = clock.now();
    this.#restsUntil = end + REST * Math.max(0, end - now);
    this.#wait(end, [resolved.nextEnd, source.expiresAt()]);
  }

  #wait(now: number, moments: readonly (number | undefined)[]): void {
    const known = moments.filter((moment) => moment !== undefined);
    this.#timer?.cancel();
    this.#timer = undefined;
    if (known.length === 0) return;
    const next = Math.max(Math.min(...known), now + Math.max(SHORTEST_WAIT, this.#rest(now)));
    this.#timer = runAt(this.#options.clock, next, () => this.#update());
  }

  #tellOfForms(before: ReadonlySet<PolicyForm>, after: ReadonlySet<PolicyForm>): void {
    const { logger } = this.#options;
    // The operator's file does not depend on the API server.
    const lost = [...before].filter((form) => form !== 'abac' && !after.has(form));
    const regained = [...after].filter((form) => form !== 'abac' && !before.has(form));
    if (lost.length > 0)
      logger.warn(
        { forms: lost },
        'policies grant nothing: what they follow from could not be read for minutes',
      );
    if (regained.length > 0) logger.info({ forms: regained }, 'what policies follow from is known');
  }

  #tellOfConfiguration(statuses: readonly PolicyStatus[]): void {
    const notReady = statuses
      .filter(({ origin, ready }) => origin.kind === 'configuration' && !ready)
      .map(({ origin: { name }, reason, message }) => ({ name, reason, message }));
    const text = JSON.stringify(notReady);
    if (text !== this.#notReady && notReady.length > 0)
      this.#options.logger.warn(
        { administrations: notReady },
        'administrations of the configuration grant nothing',
      );
    this.#notReady = text;
  }
}

/** Whether the controller would do the same, apart from the policies. */
function isSame(one: PolicySnapshot, other: PolicySnapshot): boolean {
  const namesOf = ({ facts: { tenants } }: PolicySnapshot) => tenants.map(({ name }) => name);
  return (
    isDeepStrictEqual(one.forms, other.forms) &&
    isDeepStrictEqual(namesOf(one), namesOf(other)) &&
    isDeepStrictEqual(one.statuses, other.statuses)
  );
}

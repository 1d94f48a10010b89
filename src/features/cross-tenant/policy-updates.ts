/**
 * Keeps the policies in force current: they are resolved again soon after a fact has changed, when facts are
 * not current any more, and when a policy ends.
 */

import { isDeepStrictEqual } from 'node:util';
import { runAt, type Timer } from '../../lib/clock.ts';
import type { Readings } from '../../lib/metric.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { Telemetry } from '../../lib/telemetry.ts';
import type { PolicyForm } from '../../proxy/tenant-entry.ts';
import { POLICIES } from './metrics.ts';
import type { PolicyFacts } from './policy.ts';
import { createPolicySet, type PoliciesInForce } from './policy-set.ts';
import type { PolicySources } from './policy-sources.ts';
import type { PolicyStatus, ResolvedPolicies } from './resolve.ts';

/**
 * Milliseconds between two resolutions, at least: several changes are resolved once, and a policy that is
 * withdrawn grants nothing within a second.
 */
const PAUSE = 500;
/** Milliseconds after a change, so that those that follow at once are resolved with it. */
const DEBOUNCE = 50;

export interface PolicyUpdatesOptions extends Pick<Runtime, 'clock' | 'logger'> {
  readonly source: Pick<PolicySources, 'facts' | 'currentForms' | 'expiresAt' | 'onUpdate'>;
  /** @param now milliseconds since the epoch */
  readonly resolve: (facts: PolicyFacts, now: number) => ResolvedPolicies;
  readonly inForce: PoliciesInForce;
  readonly telemetry: Pick<Telemetry, 'measure'>;
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
  #ends: readonly (() => void)[] = [];
  #next: { readonly at: number; readonly timer: Timer } | undefined;
  #snapshot: PolicySnapshot | undefined;
  /** When the last resolution was, in milliseconds since the epoch. */
  #resolvedAt = Number.NEGATIVE_INFINITY;
  /** The administrations of the configuration that were logged last, to compare. */
  #notReady = '';

  constructor(options: PolicyUpdatesOptions) {
    this.#options = options;
  }

  /** Undefined before `start`. */
  get snapshot(): PolicySnapshot | undefined {
    return this.#snapshot;
  }

  start(): void {
    const { source, clock, telemetry } = this.#options;
    this.#ends = [
      telemetry.measure(POLICIES, () => this.#measures()),
      source.onUpdate(() => this.#updateAt(clock.now() + DEBOUNCE)),
    ];
    this.#update();
  }

  stop(): void {
    for (const end of this.#ends) end();
    this.#next?.timer.cancel();
  }

  /** Called after each change of the snapshot that matters to tenants' objects. @returns ends the calls */
  onChange(call: () => void): () => void {
    const callback = () => call();
    this.#callbacks.add(callback);
    return () => {
      this.#callbacks.delete(callback);
    };
  }

  /** @param moment milliseconds since the epoch; nothing changes if an earlier update is planned */
  #updateAt(moment: number): void {
    const { clock } = this.#options;
    // The clock may have been set back.
    const pause = Math.min(this.#resolvedAt + PAUSE, clock.now() + PAUSE);
    const at = Math.max(moment, pause);
    if (this.#next !== undefined && this.#next.at <= at) return;
    this.#next?.timer.cancel();
    this.#next = { at, timer: runAt(clock, at, () => this.#update()) };
  }

  #update(): void {
    this.#next?.timer.cancel();
    this.#next = undefined;
    const { source, resolve, inForce, clock } = this.#options;
    const now = clock.now();
    const facts = source.facts();
    const forms = source.currentForms();
    const resolved = resolve(facts, now);
    this.#logForms(this.#snapshot?.forms ?? forms, forms);
    this.#logConfiguration(resolved.statuses);
    const previous = this.#snapshot;
    this.#snapshot = { ...resolved, facts, forms };
    // A set of many policies takes long to build, and most updates change none.
    if (!isDeepStrictEqual(resolved.policies, previous?.policies))
      inForce.replace(createPolicySet(resolved.policies));
    if (previous === undefined || !isDeepStrictEqual(controlledBy(this.#snapshot), controlledBy(previous)))
      for (const call of [...this.#callbacks]) call();
    this.#resolvedAt = clock.now();
    for (const moment of [resolved.nextEnd, source.expiresAt()])
      if (moment !== undefined) this.#updateAt(moment);
  }

  #logForms(before: ReadonlySet<PolicyForm>, after: ReadonlySet<PolicyForm>): void {
    const { logger } = this.#options;
    // The operator's file does not depend on the API server.
    const lost = [...before].filter((form) => form !== 'abac' && !after.has(form));
    const regained = [...after].filter((form) => form !== 'abac' && !before.has(form));
    if (lost.length > 0)
      logger.warn(
        { forms: lost },
        'policies grant nothing: the objects that they depend on could not be read for minutes',
      );
    if (regained.length > 0)
      logger.info({ forms: regained }, 'the objects that policies depend on are current again');
  }

  #logConfiguration(statuses: readonly PolicyStatus[]): void {
    const notReady = statuses
      .filter(({ object, ready }) => object === undefined && !ready)
      .map(({ name, reason, message }) => ({ name, reason, message }));
    const text = JSON.stringify(notReady);
    if (text !== this.#notReady && notReady.length > 0)
      this.#options.logger.warn(
        { administrations: notReady },
        'administrations of the configuration grant nothing',
      );
    this.#notReady = text;
  }

  #measures(): Readings<typeof POLICIES.labels> {
    const { policies = [], statuses = [] } = this.#snapshot ?? {};
    return POLICIES.labels.form.map((form) => [
      { form },
      form === 'not-ready'
        ? statuses.filter(({ ready }) => !ready).length
        : policies.filter((policy) => policy.form === form).length,
    ]);
  }
}

/** Selects what the controller acts on. An object whose status was written is not a change. */
function controlledBy({ policies, forms, facts, statuses }: PolicySnapshot) {
  const tenants = facts.tenants.map(({ name }) => name);
  const states = statuses.map(({ object, ...state }) => [
    state,
    object?.metadata.tenant,
    object?.metadata.generation,
  ]);
  return [policies, forms, tenants, states];
}

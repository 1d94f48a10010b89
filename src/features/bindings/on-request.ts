/**
 * Provisions a user's project on the first request of one of its users. That request waits a few seconds at
 * most and continues whatever the result, since the API server authorizes it; later runs are in the
 * background. Failures are cached for seconds, so that a project that cannot be provisioned delays few
 * requests.
 */

import { LRUCache } from 'lru-cache';
import { type Reconciler, reconcile } from '../../kubernetes/reconcile/controller.ts';
import { createRunLog, type RunLog } from '../../kubernetes/reconcile/run-log.ts';
import { pause } from '../../lib/clock.ts';
import { createChangedStates } from '../../lib/logger.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { KeyedSemaphore } from '../../limits/keyed-semaphore.ts';
import type { Provisioner } from '../../proxy/feature.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { ProvisioningScope } from './plan.ts';

/** Milliseconds that requests wait, from the start of the run. */
const WAIT_TIMEOUT = 3_000;
/** Milliseconds for which a failure is cached. */
const FAILURE_MEMORY = 10_000;
const RUNNING = 4;
/** If more runs are queued, a project is provisioned at a later request. */
const MAX_WAITING = 1_000;
/** More projects are evicted, the least recently used first. */
const MAX_KNOWN = 10_000;

export interface RequestProvisioningOptions extends Pick<Runtime, 'clock' | 'logger' | 'telemetry'> {
  readonly reconcilerFor: (scope: ProvisioningScope) => Reconciler;
  /** The subjects of bindings: with `users`, each user of a project is provisioned separately. */
  readonly subjects: 'groups' | 'users';
  /** Milliseconds until a project is checked again. */
  readonly interval: number;
}

interface KnownProject {
  readonly scope: ProvisioningScope;
  /** When it is checked again, in milliseconds since the epoch. */
  until: number;
  /** Whether a run has succeeded: then no request waits any more. */
  provisioned: boolean;
  work: Promise<void> | undefined;
  begunAt: number;
  /** The log of this project's runs; an unchanged state is logged once. */
  readonly log: RunLog;
}

export class RequestProvisioning implements Provisioner {
  readonly #options: RequestProvisioningOptions;
  /** Runs fail for the same reason: Keystone or the API server does not respond. */
  readonly #isNewError = createChangedStates();
  readonly #known = new LRUCache<string, KnownProject>({ max: MAX_KNOWN });
  readonly #underWay = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  /** Bounds runs, with a key for each domain: tenants are provisioned in turn. */
  readonly #runs: KeyedSemaphore;

  constructor(options: RequestProvisioningOptions) {
    this.#options = options;
    this.#runs = new KeyedSemaphore({
      clock: options.clock,
      permits: RUNNING,
      permitsPerKey: RUNNING,
      queue: MAX_WAITING,
      queuePerKey: MAX_WAITING,
      refusal: () => new Error('too many projects wait'),
    });
  }

  ensure(identity: Identity, signal: AbortSignal): Promise<void> | undefined {
    const { subjects, clock } = this.#options;
    const scope = scopeOf(identity);
    if (scope === undefined || this.#ending.signal.aborted) return undefined;
    const one = this.#knownProject(keyOf(scope, identity, subjects), scope);
    if (one.work === undefined && clock.now() >= one.until) this.#begin(one);
    return one.provisioned ? undefined : this.#untilDone(one, signal);
  }

  /** Starts no further run, and cancels running ones before their next change. */
  async close(): Promise<void> {
    this.#ending.abort(new Error('provisioning ends'));
    await Promise.all(this.#underWay);
  }

  /** Never rejects. */
  async #runInTurn(one: KnownProject): Promise<void> {
    const permits = this.#runs.of(one.scope.domain.id);
    if (!(await permits.acquire(this.#ending.signal).catch(() => false))) return;
    try {
      await this.#run(one);
    } finally {
      permits.release();
    }
  }

  #begin(one: KnownProject): void {
    const work = this.#runInTurn(one).finally(() => {
      one.work = undefined;
      this.#underWay.delete(work);
    });
    one.work = work;
    one.begunAt = this.#options.clock.now();
    this.#underWay.add(work);
  }

  async #run(one: KnownProject): Promise<void> {
    const { reconcilerFor, interval, clock, telemetry } = this.#options;
    const { signal } = this.#ending;
    if (signal.aborted) return;
    const options = { name: 'bindings-on-request', isPartial: true, clock, telemetry, log: one.log };
    const result = await reconcile(reconcilerFor(one.scope), options, signal);
    const failed = result === 'error' || result === 'incomplete';
    one.provisioned ||= !failed;
    one.until = clock.now() + (failed ? FAILURE_MEMORY : interval);
  }

  #knownProject(key: string, scope: ProvisioningScope): KnownProject {
    const about = { controller: 'bindings-on-request', ...fieldsOf(scope) };
    const one = this.#known.get(key) ?? {
      scope,
      until: 0,
      provisioned: false,
      work: undefined,
      begunAt: 0,
      log: createRunLog(this.#options.logger, about, this.#isNewError),
    };
    this.#known.set(key, one);
    return one;
  }

  #untilDone({ work, begunAt }: KnownProject, signal: AbortSignal): Promise<void> | undefined {
    const { clock } = this.#options;
    const timeout = begunAt + WAIT_TIMEOUT - clock.now();
    if (work === undefined || timeout <= 0) return undefined;
    const done = new AbortController();
    void work.then(() => done.abort());
    return pause(clock, timeout, AbortSignal.any([signal, done.signal]));
  }
}

/** @returns undefined if the identity has no project and no domain of Keystone */
function scopeOf({ scope, tenantOrigin }: Identity): ProvisioningScope | undefined {
  if (scope?.id === undefined || tenantOrigin.from !== 'domain') return undefined;
  const { domain } = tenantOrigin;
  const { kind, id, name = '' } = scope;
  if (kind === 'domain') return id === domain.id ? { domain } : undefined;
  return kind === 'project' ? { domain, project: { id, name } } : undefined;
}

/** With `users`, bindings depend on the user's roles: other roles are another key. */
function keyOf(
  { domain, project }: ProvisioningScope,
  { uid, scope }: Identity,
  subjects: 'groups' | 'users',
): string {
  const place = project === undefined ? `domain ${domain.id}` : `project ${project.id}`;
  return subjects === 'groups' ? place : JSON.stringify([place, uid, ...(scope?.roles ?? []).toSorted()]);
}

function fieldsOf({ domain, project }: ProvisioningScope): object {
  return project === undefined ? { domain: domain.id } : { project: project.id };
}

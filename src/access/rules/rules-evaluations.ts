/**
 * Evaluations of users' access rules that no cached document holds: one at a time for each user and for each
 * tenant, in short steps between which the process does other work. What waits is bounded.
 */
import type { RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { KeyedSemaphore } from '../../lib/keyed-semaphore.ts';
import type { Semaphore } from '../../lib/semaphore.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import { accountOf, type CompiledRules, type RulesCache } from './rules-cache.ts';

export interface RulesEvaluationsOptions {
  readonly cache: RulesCache;
  readonly clock: Clock;
  /** Calls back in another turn of the event loop, after pending I/O. */
  readonly nextTurn?: (action: () => void) => void;
}

export interface EvaluatedRules {
  readonly compiled: CompiledRules;
  /** The user's rights changed in each attempt: the rules may be partly those of before. */
  readonly isChanging: boolean;
}

/** At the same time, of all tenants: they share one thread. */
const CONCURRENT = 2;
/** That wait: of one user, of one tenant, of all. */
const QUEUE_OF_USER = 8;
const QUEUE_OF_TENANT = 64;
const QUEUE = 1_024;
/** Milliseconds. */
const QUEUE_TIMEOUT = 10_000;
/** Evaluations until one counts during which the user's rights changed. */
const ATTEMPTS = 3;

export class RulesEvaluations {
  readonly #cache: RulesCache;
  readonly #nextTurn: (action: () => void) => void;
  readonly #users: KeyedSemaphore;
  readonly #tenants: KeyedSemaphore;
  /** Tenant → its requests that wait, or are evaluated. */
  readonly #pending = new Map<string, number>();

  constructor({ cache, clock, nextTurn = setImmediate }: RulesEvaluationsOptions) {
    this.#cache = cache;
    this.#nextTurn = nextTurn;
    const queueOf = (requests: number) => ({ requests, bytes: Number.POSITIVE_INFINITY });
    const common = { clock, queue: queueOf(QUEUE), queueTimeout: QUEUE_TIMEOUT, permitsPerKey: 1, refusal };
    this.#users = new KeyedSemaphore({ ...common, permits: QUEUE, queuePerKey: queueOf(QUEUE_OF_USER) });
    this.#tenants = new KeyedSemaphore({
      ...common,
      permits: CONCURRENT,
      queuePerKey: queueOf(QUEUE_OF_TENANT),
    });
  }

  /**
   * @param signal of the client that waits
   * @throws StatusError TenantRateExceeded if too many wait
   */
  async rulesOf(
    subject: SubjectByNamespace,
    selection: RulesSelection,
    signal: AbortSignal,
  ): Promise<EvaluatedRules> {
    const known = this.#cache.known(subject, selection);
    if (known !== undefined) return { compiled: known, isChanging: false };
    const { tenant, username } = subject.cluster;
    const account = accountOf(subject);
    const user = this.#users.of(JSON.stringify([tenant, username]));
    return this.#counted(account, () =>
      inTurn(user, signal, () =>
        inTurn(this.#tenants.of(account), signal, () => this.#evaluate(subject, selection)),
      ),
    );
  }

  /** What waits for its user counts for the tenant too: else two tenants could fill the common queue. */
  async #counted<T>(account: string, work: () => Promise<T>): Promise<T> {
    const pending = this.#pending.get(account) ?? 0;
    if (pending > QUEUE_OF_TENANT) throw refusal();
    this.#pending.set(account, pending + 1);
    try {
      return await work();
    } finally {
      const left = (this.#pending.get(account) ?? 1) - 1;
      if (left === 0) this.#pending.delete(account);
      else this.#pending.set(account, left);
    }
  }

  async #evaluate(subject: SubjectByNamespace, selection: RulesSelection): Promise<EvaluatedRules> {
    // Another request of the user may have waited for the same.
    const known = this.#cache.known(subject, selection);
    if (known !== undefined) return { compiled: known, isChanging: false };
    for (let attempt = 1; ; attempt += 1) {
      let isChanged = false;
      const end = this.#cache.watch(subject, () => {
        isChanged = true;
      });
      try {
        const compiled = await this.#compile(subject, selection, () => isChanged && attempt < ATTEMPTS);
        if (compiled === undefined) continue;
        if (!isChanged) this.#cache.store(subject, selection, compiled);
        return { compiled, isChanging: isChanged };
      } finally {
        end();
      }
    }
  }

  /** @returns undefined if it is given up */
  async #compile(
    subject: SubjectByNamespace,
    selection: RulesSelection,
    isGivenUp: () => boolean,
  ): Promise<CompiledRules | undefined> {
    const steps = this.#cache.compileInSteps(subject, selection);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await new Promise<void>((resolve) => this.#nextTurn(resolve));
      if (isGivenUp()) return undefined;
    }
  }
}

async function inTurn<T>(semaphore: Semaphore, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  // A client that has left gets no response.
  if (!semaphore.tryAcquire() && !(await semaphore.acquire(0, signal))) throw refusal();
  try {
    return await work();
  } finally {
    semaphore.release();
  }
}

function refusal(): StatusError {
  return new StatusError(
    'TenantRateExceeded',
    'Too many requests, please try again later: too many evaluations of access rules wait',
  );
}

/**
 * Makes what a project's people need when the first of them comes: their request waits for it, a few seconds at most, and
 * goes on whatever came of it, since the API server decides. It is done once for a project, and again beside the answer
 * when the interval is over. Failures are remembered for seconds, so that a project that cannot be provisioned slows
 * nobody twice. Nothing here lets anybody in.
 */
import type { Identity } from '../api/identity.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import type { ProvisioningScope } from './make-plan.ts';
import {
  createRunLog,
  numbersOf,
  type Provisioning,
  type RunLog,
  type RunOutcome,
  runProvisioning,
} from './run.ts';

/** How long requests wait for a project, from when it was begun, in milliseconds. */
const PATIENCE = 3_000;
/** How long a failure is remembered, in milliseconds. */
const FAILURE_MEMORY = 10_000;
const RUNNING = 4;
/** Beyond these, projects are not provisioned until somebody comes again. */
const MAX_WAITING = 1_000;
/** Projects beyond these are forgotten, the longest known first. */
const MAX_KNOWN = 10_000;

export interface RequestProvisioningOptions {
  readonly provisioningFor: (claim: ProvisioningScope) => Provisioning;
  /** Whom bindings name: with `users`, each of a project's people is looked after for themselves. */
  readonly subjects: 'groups' | 'users';
  /** Milliseconds until a project is looked at again. */
  readonly interval: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface RequestProvisioning {
  /**
   * Never rejects.
   *
   * @param signal aborted when the request is over
   * @returns undefined where there is nothing to wait for
   */
  ensure(identity: Identity, signal: AbortSignal): Promise<void> | undefined;
  /** Begins nothing any more, and ends what is under way before its next change. */
  close(): Promise<void>;
}

interface Known {
  readonly claim: ProvisioningScope;
  /** When it has to be looked at again, in milliseconds since the epoch. */
  until: number;
  /** Whether it was ever looked at with success: then nobody waits any more. */
  provisioned: boolean;
  work: Promise<void> | undefined;
  begunAt: number;
  /** Of this project: what stays as it was is said once. */
  readonly log: RunLog;
}

export function createRequestProvisioning(options: RequestProvisioningOptions): RequestProvisioning {
  const { provisioningFor, subjects, interval, clock, logger, telemetry } = options;
  const log = createRunLog(logger);
  const known = new Map<string, Known>();
  const line: (() => void)[] = [];
  const underWay = new Set<Promise<void>>();
  const ending = new AbortController();
  let running = 0;

  /** A place among those that run; undefined where the line is full. */
  function turn(): Promise<void> | undefined {
    if (running < RUNNING) {
      running += 1;
      return Promise.resolve();
    }
    if (line.length >= MAX_WAITING) return undefined;
    return new Promise((resolve) => line.push(resolve));
  }

  function leave(): void {
    const next = line.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  function begin(one: Known): void {
    const place = turn();
    if (place === undefined) return;
    const work = place
      .then(() => run(one))
      .finally(() => {
        leave();
        one.work = undefined;
        underWay.delete(work);
      });
    one.work = work;
    one.begunAt = clock.now();
    underWay.add(work);
  }

  async function run(one: Known): Promise<void> {
    if (ending.signal.aborted) return;
    let outcome: RunOutcome | undefined;
    let failure: unknown;
    try {
      outcome = await runProvisioning(provisioningFor(one.claim), ending.signal);
    } catch (error) {
      failure = error;
    }
    const result = ending.signal.aborted ? 'broken-off' : (outcome?.result ?? 'error');
    if (outcome !== undefined) {
      log.planned();
      one.log.ended(outcome, fieldsOf(one.claim));
    } else if (!ending.signal.aborted) log.failed(failure);
    telemetry.provisioned({ trigger: 'request', result, ...(outcome && numbersOf(outcome)) });
    const failed = outcome === undefined || result === 'incomplete';
    one.provisioned ||= !failed;
    one.until = clock.now() + (failed ? FAILURE_MEMORY : interval);
  }

  function remember(key: string, claim: ProvisioningScope): Known {
    const one = known.get(key) ?? unknown(claim);
    // Behind all others: who was not here for the longest time is the first.
    known.delete(key);
    known.set(key, one);
    for (const oldest of known.keys()) {
      if (known.size <= MAX_KNOWN) break;
      known.delete(oldest);
    }
    return one;
  }

  function unknown(claim: ProvisioningScope): Known {
    return { claim, until: 0, provisioned: false, work: undefined, begunAt: 0, log: createRunLog(logger) };
  }

  function untilDone({ work, begunAt }: Known, signal: AbortSignal): Promise<void> | undefined {
    const patience = begunAt + PATIENCE - clock.now();
    if (work === undefined || patience <= 0) return undefined;
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = clock.after(patience, done);
      signal.addEventListener('abort', done, { once: true });
      void work.then(done);
    });
  }

  return {
    ensure(identity, signal) {
      const claim = claimOf(identity);
      if (claim === undefined || ending.signal.aborted) return undefined;
      const one = remember(keyOf(claim, identity, subjects), claim);
      if (one.work === undefined && clock.now() >= one.until) begin(one);
      return one.provisioned ? undefined : untilDone(one, signal);
    },
    async close() {
      ending.abort(new Error('provisioning ends'));
      await Promise.all(underWay);
    },
  };
}

/** @returns undefined for whom Keystone gives no project and no domain */
function claimOf({ scope, tenantOrigin }: Identity): ProvisioningScope | undefined {
  if (scope?.id === undefined || tenantOrigin.from !== 'domain') return undefined;
  const { domain } = tenantOrigin;
  const { kind, id, name = '' } = scope;
  if (kind === 'domain') return id === domain.id ? { domain } : undefined;
  return kind === 'project' ? { domain, project: { id, name } } : undefined;
}

/** As users, people are bound by what they hold: who holds something new is looked at anew. */
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

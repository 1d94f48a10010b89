/**
 * One run of publishing: read, plan, apply; and its summary in the log. A state that does not change from run
 * to run is logged once.
 */
import { resourceName } from '../api/published-objects.ts';
import { createChangedStates } from '../lib/changed-states.ts';
import type { Logger } from '../lib/logger.ts';
import { applyPublishing, type PublishingResult } from './apply.ts';
import { placeName } from './desired-copies.ts';
import {
  changeTitle,
  type PublishingChange,
  type PublishingPlan,
  planPublishing,
  type UnreadSources,
} from './plan.ts';
import { type ReadOptions, readPublishing } from './read-state.ts';

export interface PublishingOutcome {
  readonly plan: PublishingPlan;
  readonly unread: readonly UnreadSources[];
  readonly applied: PublishingResult;
}

export interface PlannedPublishing {
  readonly plan: PublishingPlan;
  readonly unread: readonly UnreadSources[];
}

/** @throws StatusError if tenants or namespaces cannot be read */
export async function makePublishingPlan(options: ReadOptions): Promise<PlannedPublishing> {
  const state = await readPublishing(options);
  return { plan: await planPublishing(state, options.rules), unread: state.unread };
}

/**
 * @param options `signal` ends the run before its next change
 * @throws StatusError if tenants or namespaces cannot be read
 * @throws the signal's reason if it was aborted before the first change
 */
export async function runPublishing(options: ReadOptions): Promise<PublishingOutcome> {
  const planned = await makePublishingPlan(options);
  options.signal.throwIfAborted();
  return { ...planned, applied: await applyPublishing(planned.plan, options) };
}

export interface PublishingNumbers {
  readonly changes: Readonly<Record<PublishingChange['action'], number>>;
  readonly conflicts: number;
  readonly refusals: number;
  readonly failures: number;
}

/** For metrics. */
export function publishingNumbers({ plan, unread, applied }: PublishingOutcome): PublishingNumbers {
  const count = (action: PublishingChange['action']) =>
    applied.done.filter((change) => change.action === action).length;
  return {
    changes: {
      create: count('create'),
      update: count('update'),
      replace: count('replace'),
      delete: count('delete'),
    },
    conflicts: plan.conflicts.length,
    refusals: plan.refusals.length,
    failures: applied.failures.length + unread.length,
  };
}

export interface PublishingLog {
  ended(outcome: PublishingOutcome): void;
  failed(error: unknown): void;
}

/** At most so many are logged; `stonegate publish --dry-run` prints all. */
const SHOWN = 20;

export function createPublishingLog(logger: Logger): PublishingLog {
  const isNew = createChangedStates();

  function tell(what: string, all: readonly object[], message: string): void {
    if (!isNew(what, JSON.stringify(all)) || all.length === 0) return;
    logger.warn({ count: all.length, [what]: all.slice(0, SHOWN) }, message);
  }

  return {
    ended(outcome) {
      const { plan, unread, applied } = outcome;
      if (isNew('error', '')) logger.info({}, 'publishing works again');
      const { changes } = publishingNumbers(outcome);
      const level = applied.done.length > 0 ? 'info' : 'debug';
      logger[level]({ changes, unchanged: plan.unchanged }, 'publishing run');
      tell('refusals', plan.refusals, 'some objects cannot be published');
      const conflicts = plan.conflicts.map(({ place, ...rest }) => ({ ...rest, place: placeName(place) }));
      tell('conflicts', conflicts, "published objects are not copied over tenants' own");
      const failures = applied.failures.map(({ change, reason }) => ({
        change: changeTitle(change),
        reason,
      }));
      tell('failures', failures, 'some copies could not be written');
      const scopes = unread.map(({ kind, namespace, reason }) => ({
        kind: resourceName(kind),
        ...(namespace !== undefined && { namespace }),
        reason,
      }));
      tell('unread', scopes, 'some published objects could not be read: their copies stay as they are');
    },
    failed(error) {
      const level = isNew('error', error instanceof Error ? error.message : String(error))
        ? 'error'
        : 'debug';
      logger[level]({ error }, 'publishing failed; it is tried again');
    },
  };
}

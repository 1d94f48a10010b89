/**
 * The summaries of a controller's runs in the log. A state that does not change from run to run is logged
 * once.
 */
import { messageOf } from '../../lib/error-code.ts';
import { createChangedStates, type LogFields, type Logger } from '../../lib/logger.ts';
import type { ApplyResult } from './apply.ts';
import { lossesOf } from './deletion-guard.ts';
import { type Plan, titleOf } from './plan.ts';

export interface RunLog {
  ended(plan: Plan, applied: ApplyResult, changes: Readonly<Record<string, number>>): void;
  /** No plan could be computed. */
  failed(error: unknown): void;
}

/** So many objects of a run are logged; a dry run of the command shows all. */
const SHOWN = 20;

/**
 * @param about fields of every line
 * @param isNewError shared by the runs that fail for the same reason
 */
export function createRunLog(logger: Logger, about: LogFields, isNewError = createChangedStates()): RunLog {
  const isNew = createChangedStates();

  function warn(what: string, all: readonly object[], message: string): void {
    if (!isNew(what, JSON.stringify(all)) || all.length === 0) return;
    logger.warn({ ...about, count: all.length, [what]: all.slice(0, SHOWN) }, message);
  }

  return {
    ended(plan, applied, changes) {
      if (isNewError('error', '')) logger.info(about, 'reconciling works again');
      const level = applied.done.length > 0 ? 'info' : 'debug';
      logger[level]({ ...about, changes, unchanged: plan.unchanged }, 'reconciled');
      warn('refusals', plan.refusals, 'some objects cannot be brought into the desired state');
      warn('unread', plan.unread, 'some objects could not be read: what depends on them stays as it is');
      const failures = applied.failures.map(({ change, reason }) => ({
        change: `${change.action} ${titleOf(change)}`,
        reason,
      }));
      warn('failures', failures, 'some objects could not be written; it is tried again');
      warn(
        'heldBack',
        lossesOf(applied.heldBack, plan),
        'more objects would be deleted than the configuration allows at once: these stay until an operator runs stonegate sync --force',
      );
    },
    failed(error) {
      // Runs may be concurrent, so the first error may vary: only changes are logged as errors.
      const isChange = isNewError('error', messageOf(error));
      logger[isChange ? 'error' : 'debug']({ ...about, error }, 'reconciling failed; it is tried again');
    },
  };
}

/**
 * What runs of provisioning leave in the log. What stays as it was from one run to the next is said once.
 */
import type { Logger } from '../lib/logger.ts';
import { lossesOf } from './deletion-guard.ts';
import type { RunOutcome } from './run.ts';

export interface RunLog {
  leaseChanged(held: boolean): void;
  /** @param about what the run was for, where it was not for all */
  ended(outcome: RunOutcome, about?: object): void;
  brokenOff(reason: unknown): void;
  /** Both sides could be read. */
  planned(): void;
  /** Nothing could be planned. */
  failed(error: unknown): void;
}

/** Of many, so many are shown; `stonegate sync --dry-run` shows all. */
const SHOWN = 20;

export function createRunLog(logger: Logger): RunLog {
  const said = new Map<string, string>();

  /** Whether it differs from the last time. */
  function isNew(what: string, text: string): boolean {
    const before = said.get(what) ?? '';
    said.set(what, text);
    return text !== before;
  }

  function tell(what: string, all: readonly object[], about: object, message: string): void {
    if (!isNew(what, JSON.stringify(all))) return;
    if (all.length > 0) logger.warn({ ...about, count: all.length, [what]: all.slice(0, SHOWN) }, message);
  }

  return {
    leaseChanged(held) {
      logger.info({}, held ? 'this process provisions' : 'this process does not provision: no lease');
    },
    brokenOff: (reason) => logger.info({ reason }, 'a run of provisioning was broken off'),
    ended({ result, plan, applied, changes }, about = {}) {
      const { create, update, delete: deleted } = changes;
      const level = create + update + deleted > 0 ? 'info' : 'debug';
      logger[level]({ ...about, result, changes, unchanged: plan.unchanged }, 'provisioning run');
      tell('refusals', plan.refusals, about, 'some of Keystone cannot be provisioned');
      const failures = applied.failures.map(({ change: { action, object, place }, reason }) => ({
        change: `${action} ${object.kind} ${object.metadata.name}`,
        ...place,
        reason,
      }));
      tell('failures', failures, about, 'some objects could not be provisioned');
      const losses = lossesOf(applied.heldBack, plan).map(({ place, going, there }) => ({
        ...place,
        going,
        there,
      }));
      if (isNew('heldBack', JSON.stringify(losses)) && losses.length > 0)
        logger.warn(
          {
            ...about,
            heldBack: applied.heldBack.length,
            places: losses.length,
            losses: losses.slice(0, SHOWN),
          },
          'more bindings would be removed than bindings.maxDeletedShare allows: these are not, until somebody runs stonegate sync --force',
        );
    },
    planned() {
      if (isNew('error', '')) logger.info({}, 'provisioning works again');
    },
    failed(error) {
      // Which of several questions failed first is not the same each time.
      const level = isNew('error', error instanceof Error ? error.message : String(error))
        ? 'error'
        : 'debug';
      logger[level]({ error }, 'provisioning failed; it is tried again');
    },
  };
}

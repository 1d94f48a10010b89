/**
 * Decisions for open watches, spread over turns of the event loop: one change of a binding may concern all
 * of them.
 */
import type { Clock } from '../lib/clock.ts';
import { TurnQueue } from '../lib/turn-queue.ts';

interface Deciding {
  /** Makes the decisions that are due. @returns how many they were */
  decide(): number;
}

/** Of one turn. */
const DECISIONS = 500;
const MILLISECONDS = 10;

export function createDecisionQueue<J extends Deciding>(clock: Pick<Clock, 'now'>): TurnQueue<J> {
  return new TurnQueue({
    stepsPerTurn: DECISIONS,
    timeLimit: { clock, milliseconds: MILLISECONDS },
    run: (watch) => watch.decide(),
  });
}

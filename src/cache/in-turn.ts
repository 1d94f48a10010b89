/**
 * One question to a backend for all replicas: whoever has the turn asks, the others look now and then whether the answer
 * is there. The wait is short and bounded, and without Redis there is none: then everybody asks for themselves, as they
 * would without turns. So a holder that dies, or somebody who writes turns into Redis, can delay a question and no more.
 */
import type { Clock } from '../lib/clock.ts';

/** Milliseconds between looks: at first, and at most. */
const FIRST_WAIT = 5;
const MAX_WAIT = 50;
/** Milliseconds after which nobody waits any longer for another replica. */
const PATIENCE = 1_000;

export interface Turn {
  /** To be called when the answer can be found by others, or there is none. */
  giveBack(): void;
}

/** `others`: another replica has it; `none`: there are no turns, since Redis does not answer. */
export type TurnOrNot = Turn | 'others' | 'none';

export interface InTurnOptions<V> {
  readonly clock: Clock;
  readonly takeTurn: () => Promise<TurnOrNot>;
  /** Whether the answer is there by now. */
  readonly look: () => Promise<V | undefined>;
  readonly ask: (turn: Turn) => Promise<V | undefined>;
}

const NO_TURN: Turn = { giveBack() {} };

export async function inTurn<V>({ clock, takeTurn, look, ask }: InTurnOptions<V>): Promise<V | undefined> {
  const deadline = clock.now() + PATIENCE;
  for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, MAX_WAIT)) {
    const turn = await takeTurn();
    if (turn === 'none') return ask(NO_TURN);
    // With the turn too: it may have been given back, with the answer, since the last look.
    const found = await look().catch((error: unknown) => {
      if (turn !== 'others') turn.giveBack();
      throw error;
    });
    if (turn !== 'others') {
      if (found === undefined) return ask(turn);
      turn.giveBack();
    }
    if (found !== undefined) return found;
    if (clock.now() >= deadline) return ask(NO_TURN);
    await new Promise<void>((resolve) => {
      clock.after(wait, resolve);
    });
  }
}

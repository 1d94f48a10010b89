/**
 * How long the watches last that Stonegate answers itself. Each ends after its time; and soon after a reload,
 * so that no watch uses or retains what belongs to an earlier configuration. Its client resumes it.
 */
import { type Clock, runAt, type Timer } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';

/** Milliseconds that a watch lasts if its client does not say: as an API server's, up to twice as long. */
const USUAL = 30 * 60_000;
const LONGEST = 2 * USUAL;
/** Milliseconds over which the watches end after a reload: their clients return at once. */
const SPREAD = 4_500;

/**
 * https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/ `--min-request-timeout`
 *
 * @param timeoutSeconds of the request; 0 is none, as for the API server
 * @returns milliseconds
 */
export function watchLifetime(
  timeoutSeconds: number | undefined,
  { fraction }: Pick<Random, 'fraction'>,
): number {
  const asked = (timeoutSeconds ?? 0) * 1_000;
  return asked === 0 || asked > LONGEST ? USUAL * (1 + fraction()) : Math.max(0, asked);
}

export interface WatchLifetimesOptions {
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  /** Aborted when another configuration is in force. */
  readonly replaced: AbortSignal;
}

export class WatchLifetimes {
  readonly #options: WatchLifetimesOptions;

  constructor(options: WatchLifetimesOptions) {
    this.#options = options;
  }

  /**
   * @param end called when the watch is to end, perhaps twice
   * @returns to be called when the watch has ended
   */
  begin(timeoutSeconds: number | undefined, end: () => void): () => void {
    const { clock, random, replaced } = this.#options;
    const endIn = (milliseconds: number) => runAt(clock, clock.now() + milliseconds, end);
    const timers: Timer[] = [endIn(watchLifetime(timeoutSeconds, random))];
    const onReplaced = () => timers.push(endIn(random.fraction() * SPREAD));
    replaced.addEventListener('abort', onReplaced, { once: true });
    if (replaced.aborted) onReplaced();
    return () => {
      replaced.removeEventListener('abort', onReplaced);
      for (const timer of timers) timer.cancel();
    };
  }
}

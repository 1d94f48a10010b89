/**
 * Reviews what Stonegate's own credential may impersonate, and whether the API server has constrained
 * impersonation: at startup, every hour and after a refusal. An optional extra key without the right is
 * omitted, so that an older ClusterRole does not make every request fail.
 */
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { hasConstrained, mayImpersonate } from './own-access-reviews.ts';
import type { UpstreamFetcher, UpstreamRights } from './upstream-ports.ts';

/** Milliseconds. */
const HOUR = 3_600_000;
/**
 * Used if a key is omitted or the API server could not be reached: the operator may be about to grant the
 * right.
 */
const MINUTE = 60_000;
/** The shortest time between two rounds: a flood of refused requests causes no flood of reviews. */
const SHORTEST = 10_000;

export interface UpstreamRightsOptions {
  readonly fetcher: UpstreamFetcher;
  /** The extra keys that are sent only with the right to impersonate them. */
  readonly optionalKeys: readonly string[];
  /** Whether the API server may have constrained impersonation: Arktos has not. */
  readonly mayBeConstrained: boolean;
  /** The previous result for the same account, API server and keys: it is valid until the first response. */
  readonly known?: Pick<UpstreamRights, 'withheld' | 'constrained'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface AskedUpstreamRights extends UpstreamRights {
  /**
   * Reviews now.
   *
   * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is not a review; the
   *   previous result stays
   */
  ask(): Promise<void>;
  /** Reviews now and periodically. */
  start(): void;
  stop(): void;
}

/**
 * Until the first response, if nothing is known, every optional key is omitted and impersonation is taken for
 * unconstrained.
 */
export function createUpstreamRights(options: UpstreamRightsOptions): AskedUpstreamRights {
  return new PeriodicRights(options);
}

class PeriodicRights implements AskedUpstreamRights {
  readonly #options: UpstreamRightsOptions;
  readonly #stopped = new AbortController();
  #withheld: ReadonlySet<string>;
  #constrained: boolean;
  /** What the log says. */
  #logged = '';
  #timer: Timer | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  #askAgain = false;

  constructor(options: UpstreamRightsOptions) {
    this.#options = options;
    this.#withheld = options.known?.withheld ?? new Set(options.optionalKeys);
    this.#constrained = options.known?.constrained ?? false;
  }

  get withheld(): ReadonlySet<string> {
    return this.#withheld;
  }

  get constrained(): boolean {
    return this.#constrained;
  }

  refused(): void {
    if (this.#isAsking) this.#askAgain = true;
    else this.#soon();
  }

  async ask(): Promise<void> {
    const { fetcher, optionalKeys, mayBeConstrained } = this.#options;
    const { signal } = this.#stopped;
    if (optionalKeys.length === 0 && !mayBeConstrained) return;
    const constrained = mayBeConstrained && (await hasConstrained(fetcher, signal));
    const refused: string[] = [];
    for (const key of optionalKeys)
      if (!(await mayImpersonate(fetcher, key, constrained, signal))) refused.push(key);
    this.#constrained = constrained;
    if (refused.join() !== [...this.#withheld].join()) this.#withheld = new Set(refused);
    this.#log();
  }

  start(): void {
    const { clock, logger } = this.#options;
    this.#timer?.cancel();
    this.#askedAt = clock.now();
    this.#isAsking = true;
    this.#askAgain = false;
    this.ask()
      .then(
        () => this.#schedule(this.#withheld.size === 0 ? HOUR : MINUTE),
        (error: unknown) => {
          if (!this.#stopped.signal.aborted)
            logger.warn({ error }, 'Stonegate could not ask for its own rights');
          this.#schedule(MINUTE);
        },
      )
      .finally(() => {
        this.#isAsking = false;
        if (this.#askAgain) this.#soon();
      });
  }

  stop(): void {
    this.#stopped.abort();
    this.#timer?.cancel();
  }

  /** Once per change: what is omitted is a warning, as the operator has to grant it. */
  #log(): void {
    const { logger } = this.#options;
    const found = { constrained: this.#constrained, omitted: [...this.#withheld] };
    const now = JSON.stringify(found);
    if (now === this.#logged) return;
    this.#logged = now;
    if (this.#withheld.size > 0) logger.warn(found, OMITTED);
    else logger.info(found, 'asked the API server what Stonegate may impersonate');
  }

  #schedule(delay: number): void {
    this.#timer?.cancel();
    if (!this.#stopped.signal.aborted) this.#timer = this.#options.clock.after(delay, () => this.start());
  }

  #soon(): void {
    const delay = this.#askedAt + SHORTEST - this.#options.clock.now();
    if (delay <= 0 && !this.#stopped.signal.aborted) this.start();
    else this.#schedule(delay);
  }
}

const OMITTED =
  'Stonegate may not impersonate some extra keys and omits them: apply the output of `stonegate manifests rbac --config FILE`';

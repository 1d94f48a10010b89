/**
 * The tokens that this process has taken from the accounts of a tenant and a user in Redis. It takes in
 * advance what the last moments suggest, so that a busy user waits for Redis once. An occasional
 * one waits for one round trip each time, since tokens that are not spent are lost.
 */
import type { Clock } from '../../lib/clock.ts';
import type { RateLimiter } from '../../limits/rate-limiter.ts';
import { type Budget, type Shortage, shortageOf } from './budget.ts';
import { TOKEN_LIFE, type TokenGrant, type TokenRequest } from './token-script.ts';

/** At most ten commands in any second, of which a steady load needs three. */
export const COMMAND_RATE = { perSecond: 5, burst: 5 };
/** Milliseconds after which tokens are renewed before they are spent. */
const RENEW_AFTER = 300;
/** What has lasted for less is not taken to go on at that rate. */
const SHORTEST_OBSERVATION = TOKEN_LIFE / 8;

export interface TokenBatchOptions {
  readonly budgets: readonly Budget[];
  readonly clock: Clock;
  /** Limits commands to Redis, by account. */
  readonly commands: RateLimiter;
  /** Identifies the account for `commands`. */
  readonly name: string;
  /** @returns undefined if Redis does not respond */
  take(request: TokenRequest): Promise<TokenGrant | undefined>;
}

interface Waiting {
  /** What the request costs beyond `own`. */
  readonly cost: number;
  /** Tokens of the batch that are put aside for it. */
  readonly own: number;
  readonly resolve: (result: BatchResult) => void;
}

/** Undefined: the request is paid. `lost`: Redis does not respond. */
export type BatchResult = Shortage | 'lost' | undefined;

export class TokenBatch {
  readonly #options: TokenBatchOptions;
  /** Tokens per second that both accounts get. */
  readonly #slowest: number;
  #tokens = 0;
  /** When the command was sent that gave the tokens. */
  #takenAt = Number.NEGATIVE_INFINITY;
  /** Tokens that were spent without Redis, the first of them at `#owedSince`. */
  #owed = 0;
  #owedSince = 0;
  /** What was missing in each account when Redis was last asked; nothing is known before. */
  #debts: readonly number[] = [];
  #debtsAt = Number.NEGATIVE_INFINITY;
  /** Tokens spent since then, which the shares are not charged with yet. */
  #spent = 0;
  /** When the batch could first not pay since then. */
  #exhaustedAt: number | undefined;
  #waiting: Waiting[] = [];
  /** A command is under way, or waits for its turn. */
  #isAsking = false;

  constructor(options: TokenBatchOptions) {
    this.#options = options;
    this.#slowest = Math.min(...options.budgets.map(({ rate }) => rate.perSecond));
  }

  /** @returns whether the batch has paid */
  spend(cost: number): boolean {
    const now = this.#options.clock.now();
    if (this.#held(now) < cost) {
      this.#exhaustedAt ??= now;
      return false;
    }
    this.#tokens -= cost;
    this.#spent += cost;
    if (now - this.#takenAt >= RENEW_AFTER) this.renew();
    return true;
  }

  /** Asks Redis if it may be asked now; no request waits for that. */
  renew(): void {
    const { commands, name } = this.#options;
    if (this.#isAsking || !commands.take(name)) return;
    this.#isAsking = true;
    void this.#ask();
  }

  /** Tokens that were spent without Redis: its accounts are charged with the next command. */
  owe(cost: number): void {
    if (this.#owed === 0) this.#owedSince = this.#options.clock.now();
    this.#owed += cost;
  }

  /**
   * What certainly lacks in Redis beside what others wait for: other processes can only have taken more since
   * it was last asked. So a client that is refused costs no command, and the number that wait is bounded.
   */
  shortage(cost: number): Shortage | undefined {
    const now = this.#options.clock.now();
    const others = this.#waiting.reduce((sum, waiting) => sum + waiting.cost, 0);
    return this.#shortageAt(others + cost - this.#held(now), now);
  }

  /** Called if the batch could not pay and there is no known shortage. */
  pay(cost: number): Promise<BatchResult> {
    const own = Math.min(cost, this.#held(this.#options.clock.now()));
    this.#putAside(own);
    return new Promise((resolve) => {
      this.#waiting.push({ cost: cost - own, own, resolve });
      this.#askInTurn();
    });
  }

  /** @param own less than nothing if it is put back */
  #putAside(own: number): void {
    this.#tokens -= own;
    this.#spent += own;
  }

  #askInTurn(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const { clock, commands, name } = this.#options;
    const ask = () => {
      commands.spend(name, 1);
      void this.#ask();
    };
    const wait = commands.wait(name);
    if (wait === 0) ask();
    else clock.after(wait, ask);
  }

  async #ask(): Promise<void> {
    const askedAt = this.#options.clock.now();
    const isOver = !this.#isAlive(askedAt);
    if (isOver) this.#tokens = 0;
    const held = this.#tokens;
    const owed = this.#owed;
    const owedFor = owed === 0 ? 0 : Math.max(0, askedAt - this.#owedSince);
    const waiting = this.#waiting.map((one) => (isOver ? { ...one, cost: one.cost + one.own, own: 0 } : one));
    this.#waiting = [];
    const costs = waiting.map(({ cost }) => cost);
    const wanted = Math.max(0, this.#expected(costs, askedAt) - held);
    const grant = await this.#options.take({ costs, wanted, held, owed, owedFor });
    // The shares must not be full when Redis is lost.
    for (const { share, key } of this.#options.budgets) share.drain(key, this.#spent);
    this.#spent = 0;
    if (grant === undefined) this.#lose(waiting);
    else {
      this.#owed -= owed;
      this.#owedSince = askedAt;
      this.#settle(waiting, grant, askedAt);
    }
    this.#isAsking = false;
    this.#payWaiting();
    if (this.#waiting.length > 0) this.#askInTurn();
  }

  /** Requests that have come while Redis was asked. */
  #payWaiting(): void {
    this.#waiting = this.#waiting.filter(({ cost, resolve }) => {
      if (!this.spend(cost)) return true;
      resolve(undefined);
      return false;
    });
  }

  /** If the tokens were taken and only the reply was lost, no request gets them. */
  #lose(waiting: readonly Waiting[]): void {
    for (const { own, resolve } of waiting) {
      this.#putAside(-own);
      resolve('lost');
    }
  }

  #settle(waiting: readonly Waiting[], { available, extra, debts }: TokenGrant, askedAt: number): void {
    this.#debts = debts;
    this.#debtsAt = askedAt;
    this.#exhaustedAt = undefined;
    if (extra !== undefined) {
      this.#tokens += extra;
      this.#takenAt = askedAt;
    }
    let left = available;
    for (const { cost, own, resolve } of waiting) {
      if (cost <= left) {
        left -= cost;
        this.#spent += cost;
        resolve(undefined);
      } else {
        this.#putAside(-own);
        resolve(this.#shortageAt(cost, askedAt) ?? shortageOf(this.#options.budgets, () => 1));
      }
    }
  }

  /** The tokens that may still be spent. A clock that was set back ends them. */
  #held(now: number): number {
    return this.#isAlive(now) ? this.#tokens : 0;
  }

  #isAlive(now: number): boolean {
    return now >= this.#takenAt && now < this.#takenAt + TOKEN_LIFE;
  }

  #shortageAt(cost: number, now: number): Shortage | undefined {
    const { budgets } = this.#options;
    if (this.#debts.length === 0) return undefined;
    return shortageOf(budgets, ({ rate }, at) => {
      const missing = (this.#debts[at] ?? 0) + cost - rate.burst;
      return (missing / rate.perSecond) * 1_000 - (now - this.#debtsAt);
    });
  }

  /**
   * What the requests of the next life will cost if they go on as since the last command; twice that if there
   * were too few tokens. After a pause they are taken to begin as before it, the less the longer it was.
   */
  #expected(costs: readonly number[], now: number): number {
    const pause = now - this.#debtsAt;
    if (pause >= TOKEN_LIFE) {
      const waiting = costs.reduce((sum, cost) => sum + cost, 0);
      return Math.max(0, Math.floor(this.#spent * (TOKEN_LIFE / pause) ** 2) - waiting);
    }
    const elapsed = Math.max((this.#exhaustedAt ?? now) - this.#debtsAt, SHORTEST_OBSERVATION);
    const goingOn = (this.#spent * TOKEN_LIFE) / elapsed;
    const expected = this.#exhaustedAt === undefined ? goingOn : 2 * goingOn;
    return Math.floor(Math.min(expected, this.#spent + (this.#slowest * TOKEN_LIFE) / 1_000));
  }
}

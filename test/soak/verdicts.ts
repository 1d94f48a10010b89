/**
 * Judges each response. A refusal of a valid request is tolerated only while a backend that it needs is down;
 * access that must not be, and a refusal of a valid credential, never.
 */

export interface Expected {
  /** What the client does, for the report. */
  readonly name: string;
  readonly statuses: readonly number[];
  /** A text that only another tenant's objects contain. */
  readonly never?: string;
  /** Milliseconds since the epoch. A response after it may also be 401, whenever the request began. */
  readonly validUntil?: number;
}

/** Undefined status: the connection broke. */
export interface Received {
  readonly status: number | undefined;
  readonly body: string;
}

/** What a client gets if a backend is down. */
const UNAVAILABLE: readonly (number | undefined)[] = [503, 504, undefined];
const MAX_EXAMPLES = 20;

export class Verdicts {
  /** By name and status. */
  readonly counts = new Map<string, number>();
  readonly wrong: string[] = [];
  total = 0;
  wrongTotal = 0;
  /** How many faults have begun, and whether one lasts. */
  #faults = 0;
  #isFaulty = false;
  readonly #now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  faultBegins(): void {
    this.#faults += 1;
    this.#isFaulty = true;
  }

  faultEnds(): void {
    this.#isFaulty = false;
  }

  /** Call it before a request, and the result with its response. */
  begin(expected: Expected): (received: Received) => void {
    const [faults, wasFaulty] = [this.#faults, this.#isFaulty];
    return (received) => {
      const inFault = wasFaulty || this.#isFaulty || this.#faults !== faults;
      this.#judge(expected, received, inFault);
    };
  }

  #judge(
    { name, statuses, never, validUntil = Infinity }: Expected,
    { status, body }: Received,
    inFault: boolean,
  ): void {
    this.total += 1;
    const key = `${name}: ${status ?? 'connection broken'}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    const hasExpired = status === 401 && this.#now() >= validUntil;
    const expected = hasExpired || (status !== undefined && statuses.includes(status));
    const excused = inFault && UNAVAILABLE.includes(status);
    if (never !== undefined && body.includes(never)) this.#add(`${key}, with ${JSON.stringify(never)}`);
    else if (!expected && !excused) this.#add(`${key}${inFault ? ' in a fault' : ''}: ${body.slice(0, 300)}`);
  }

  #add(example: string): void {
    this.wrongTotal += 1;
    if (this.wrong.length < MAX_EXAMPLES)
      this.wrong.push(`${new Date(this.#now()).toISOString()} ${example}`);
  }
}

/**
 * Compares a sample of the index's decisions with the API server's own, in the background. A difference that
 * stays after the index has passed the API server's revision suspends the user's filtered responses; if it
 * happens to several users, the feature is off until the next reload. See docs/access.md.
 */
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { untrustedText } from '../lib/untrusted-text.ts';
import { type Question, type RBACUser, type SubjectByNamespace, subjectIn } from '../rbac/attributes.ts';
import { allows } from '../rbac/decide.ts';
import type { NamespacesQuestion } from '../rbac/enumerate.ts';
import type { RBACIndex } from '../rbac/rbac-index.ts';
import type { AccessIndex, VerificationSource } from './ports.ts';

/** Call `sample` or `sampleNamespaces` for each decision of the index that a response is made from. */
export interface Verifier {
  /** Compares the decision with the API server's, if it is drawn. Returns at once and never throws. */
  sample(user: RBACUser, question: Question, allowed: boolean): void;
  /**
   * The same for an enumeration, which counts as one decision.
   *
   * @param allowed as `namespacesAllowed` returned them
   */
  sampleNamespaces(
    subject: SubjectByNamespace,
    question: NamespacesQuestion,
    allowed: readonly string[],
  ): void;
  /** Whether the user's requests are to be forwarded unchanged, as if the index were not synced. */
  isSuspended(user: Pick<RBACUser, 'tenant' | 'username'>): boolean;
  /** Why enumerations over several users are incomplete; undefined if they are complete. */
  readonly incompleteBecause: string | undefined;
}

export interface VerifierOptions {
  readonly index: RBACIndex;
  readonly source: VerificationSource;
  /** One decision in this many is compared; 0: none. */
  readonly oneIn: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Pick<Telemetry, 'accessVerified'>;
}

/** Milliseconds from a difference to the first, second and third repetition. */
const DELAYS = [1_000, 5_000, 30_000] as const;
/** Milliseconds between further repetitions, while the index has not passed the API server's revision. */
const FURTHER_DELAY = 30_000;
/** Milliseconds after which a difference that could not be confirmed is given up. */
const LONGEST = 300_000;
/** Milliseconds after which a comparison that finds both reviews in use tries again. */
const BUSY_DELAY = 1_000;
const CONCURRENT_REVIEWS = 2;
/** Differences that wait to be repeated. */
const MAX_DIFFERENCES = 16;
const SUSPENSION = 600_000;
/** This many users within this time turn the feature off. */
const OFF = { users: 3, within: 3_600_000 } as const;

/** A difference that may still settle. */
interface Difference {
  readonly user: RBACUser;
  readonly question: Question;
  readonly since: number;
  readonly repetitions: number;
  /** The API server's after the first review; undefined while it could not be asked. */
  readonly revision: number | undefined;
}

export function createVerifier(options: VerifierOptions): Verifier & { stop(): void } {
  return new SamplingVerifier(options);
}

/** The index for enumerations over several users: a disagreement about one of them makes them incomplete. */
export function withVerification(
  access: AccessIndex,
  verifier: Pick<Verifier, 'incompleteBecause'>,
): AccessIndex {
  return {
    index: access.index,
    stopped: access.stopped,
    state: () => access.state(),
    waitFor: (revision, timeout, signal) => access.waitFor(revision, timeout, signal),
    incompleteReason: () => access.incompleteReason() ?? verifier.incompleteBecause,
  };
}

class SamplingVerifier implements Verifier {
  readonly #options: VerifierOptions;
  readonly #stopped = new AbortController();
  readonly #timers = new Set<Timer>();
  /** User → until when, in milliseconds since the epoch. */
  readonly #suspended = new Map<string, number>();
  /** User → when a difference was last confirmed. */
  readonly #confirmed = new Map<string, number>();
  #reviews = 0;
  #isOff = false;

  constructor(options: VerifierOptions) {
    this.#options = options;
  }

  sample(user: RBACUser, question: Question, allowed: boolean): void {
    if (this.#isDrawn()) this.#compareFirst(user, question, allowed);
  }

  sampleNamespaces(
    subject: SubjectByNamespace,
    { name, ...question }: NamespacesQuestion,
    allowed: readonly string[],
  ): void {
    if (!this.#isDrawn()) return;
    const existing = [...this.#options.index.objectsOf(question.tenant).namespaces.keys()];
    // Half of them among those that are shown: most users may see few of the namespaces.
    const drawn = this.#draw(allowed.length > 0 && this.#draw([true, false]) === true ? allowed : existing);
    if (drawn === undefined) return;
    const asked = { ...question, namespace: drawn, name: name === '' ? '' : drawn };
    this.#compareFirst(subjectIn(subject, drawn), asked, allowed.includes(drawn));
  }

  isSuspended(user: Pick<RBACUser, 'tenant' | 'username'>): boolean {
    if (this.#isOff) return true;
    if (this.#suspended.size === 0) return false;
    return (this.#suspended.get(keyOf(user)) ?? 0) > this.#options.clock.now();
  }

  get incompleteBecause(): string | undefined {
    const { clock } = this.#options;
    if (this.#isOff) return 'the RBAC index and the API server disagreed about several users';
    for (const until of this.#suspended.values())
      if (until > clock.now()) return 'the RBAC index and the API server disagree about a user';
    return undefined;
  }

  stop(): void {
    this.#stopped.abort();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #isDrawn(): boolean {
    const { oneIn, random } = this.#options;
    return oneIn > 0 && !this.#isOff && random.fraction() * oneIn < 1;
  }

  #draw<T>(values: readonly T[]): T | undefined {
    return values[Math.floor(this.#options.random.fraction() * values.length)];
  }

  #compareFirst(user: RBACUser, question: Question, allowed: boolean): void {
    if (isNamedAmbiguously(user)) return;
    if (this.#reviews >= CONCURRENT_REVIEWS || this.#timers.size >= MAX_DIFFERENCES) {
      this.#options.telemetry.accessVerified('dropped');
      return;
    }
    const first = { user, question, since: this.#options.clock.now(), repetitions: 0, revision: undefined };
    void this.#compare(first, () => allowed);
  }

  /** Never rejects. @param decide called when the API server has answered */
  async #compare(difference: Difference, decide: () => boolean): Promise<void> {
    const { source, telemetry, logger } = this.#options;
    const { user, question, repetitions } = difference;
    const { signal } = this.#stopped;
    this.#reviews += 1;
    try {
      const reviewed = await source.review(user, question, signal);
      if (reviewed === 'unknown') telemetry.accessVerified('unknown');
      else if ((reviewed === 'allowed') === decide())
        telemetry.accessVerified(repetitions === 0 ? 'agreed' : 'settled');
      else await this.#differs(difference);
    } catch (error) {
      if (signal.aborted) return;
      logger.debug({ error }, 'a decision of the RBAC index could not be compared');
      if (repetitions === 0) telemetry.accessVerified('failed');
      else this.#repeat(difference);
    } finally {
      this.#reviews -= 1;
    }
  }

  async #differs(difference: Difference): Promise<void> {
    const revision = difference.revision ?? (await this.#revision());
    const hasPassed = revision !== undefined && this.#options.index.revision >= revision;
    if (hasPassed && difference.repetitions >= DELAYS.length) this.#confirm(difference);
    else this.#repeat({ ...difference, revision });
  }

  /** @returns undefined if the API server does not answer */
  async #revision(): Promise<number | undefined> {
    const { source, logger } = this.#options;
    try {
      return await source.revision(this.#stopped.signal);
    } catch (error) {
      logger.debug({ error }, "the API server's revision is not known");
      return undefined;
    }
  }

  #repeat(difference: Difference): void {
    const { clock, telemetry } = this.#options;
    const { repetitions, since } = difference;
    const delay = DELAYS[repetitions] ?? FURTHER_DELAY;
    if (clock.now() + delay - since > LONGEST) telemetry.accessVerified('unsettled');
    else this.#later({ ...difference, repetitions: repetitions + 1 }, delay);
  }

  #later(difference: Difference, delay: number): void {
    const { clock, index } = this.#options;
    if (this.#stopped.signal.aborted) return;
    const timer = clock.after(delay, () => {
      this.#timers.delete(timer);
      if (this.#reviews >= CONCURRENT_REVIEWS) this.#later(difference, BUSY_DELAY);
      else void this.#compare(difference, () => allows(index, difference.user, difference.question));
    });
    this.#timers.add(timer);
  }

  #confirm({ user, question }: Difference): void {
    const { clock, telemetry, logger, index } = this.#options;
    const now = clock.now();
    telemetry.accessVerified('differed');
    if (this.isSuspended(user)) return;
    for (const known of [this.#suspended, this.#confirmed])
      for (const [key, time] of known) if (time < now - OFF.within) known.delete(key);
    this.#suspended.set(keyOf(user), now + SUSPENSION);
    this.#confirmed.set(keyOf(user), now);
    logger.warn(
      { ...shown(user, question), index: allows(index, user, question) ? 'allow' : 'noOpinion' },
      'the RBAC index and the API server disagree: filtered responses are off for this user for 10 minutes',
    );
    if (this.#confirmed.size < OFF.users) return;
    this.#isOff = true;
    logger.error(
      {},
      'the RBAC index and the API server disagreed about three users within an hour: filtered responses are off until the configuration is reloaded',
    );
  }
}

/** Arktos' service accounts: their names contain no tenant, so that a review by name is about another one. */
function isNamedAmbiguously({ tenant, username }: RBACUser): boolean {
  return tenant !== '' && username.startsWith('system:serviceaccount:');
}

/** No tenant's name contains a slash. */
function keyOf({ tenant, username }: Pick<RBACUser, 'tenant' | 'username'>): string {
  return `${tenant}/${username}`;
}

/** For the log. */
function shown({ tenant, username }: RBACUser, question: Question) {
  const user = untrustedText(username);
  if ('path' in question) return { tenant, user, verb: question.verb, path: untrustedText(question.path) };
  const { verb, apiGroup, resource, subresource, namespace, name } = question;
  return { tenant, user, verb, apiGroup, resource, subresource, namespace, object: untrustedText(name) };
}

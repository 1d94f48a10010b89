/**
 * Compares a sample of the index's decisions with the API server's own, in the background. A difference that
 * stays suspends the user's filtered responses; if it happens to several users, the feature is off for their
 * tenant, or for all, until the next reload. See docs/access.md.
 */
import { SERVICE_ACCOUNT_PREFIX } from '../api/reserved-names.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Suspensions, Telemetry } from '../lib/telemetry.ts';
import { untrustedText } from '../lib/untrusted-text.ts';
import {
  type Question,
  type RBACUser,
  type SubjectByNamespace,
  subjectIn,
  uniformSubject,
} from '../rbac/attributes.ts';
import { allows } from '../rbac/decide.ts';
import type { NamespacesQuestion } from '../rbac/enumerate.ts';
import type { RBACIndex } from '../rbac/rbac-index.ts';
import type { AccessIndex, ReviewedAccess, VerificationSource } from './ports.ts';
import { Comparison } from './verification-comparison.ts';
import { Doubts } from './verification-doubts.ts';

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
  /**
   * The same for an enumeration of another form.
   *
   * @param draw called if the enumeration is drawn; returns undefined if it has no decision
   */
  sampleOne(draw: (pick: Draw) => SampledDecision | undefined): void;
  /** Whether the user's requests are to be forwarded unchanged, as if the index were not synced. */
  isSuspended(subject: SubjectByNamespace): boolean;
  /** Why enumerations over several users may be wrong: about some of them the API server disagrees. */
  readonly incompleteBecause: string | undefined;
}

/** With what its owner needs. */
export interface OwnedVerifier extends Verifier {
  /** Whose filtered responses are off. */
  readonly suspensions: Suspensions;
  stop(): void;
}

/** Draws one of the values by chance; undefined if there are none. */
export type Draw = <T>(values: readonly T[]) => T | undefined;

export interface SampledDecision {
  readonly user: RBACUser;
  readonly question: Question;
  readonly allowed: boolean;
}

export interface VerifierOptions {
  readonly index: RBACIndex;
  readonly source: VerificationSource;
  /** One decision in this many is compared; 0: none. */
  readonly oneIn: number;
  /** Whether the operator states that no authorizer decides about users but RBAC. */
  readonly isRBACAlone: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Pick<Telemetry, 'accessVerified'>;
}

const CONCURRENT_REVIEWS = 2;
/** Comparisons that wait for their next review, or for the index. */
const MAX_WAITING = 16;

export function createVerifier(options: VerifierOptions): OwnedVerifier {
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

class SamplingVerifier implements OwnedVerifier {
  readonly #options: VerifierOptions;
  readonly #stopped = new AbortController();
  readonly #comparisons = new Set<Comparison>();
  readonly #doubts: Doubts;
  #reviews = 0;

  constructor(options: VerifierOptions) {
    this.#options = options;
    this.#doubts = new Doubts(options.clock);
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
    const drawn = this.#pick(allowed.length > 0 && this.#pick([true, false]) === true ? allowed : existing);
    if (drawn === undefined) return;
    const asked = { ...question, namespace: drawn, name: name === '' ? '' : drawn };
    const user = subjectIn(subject, drawn);
    // A right that makes nothing visible is a right all the same.
    this.#compareFirst(user, asked, allowed.includes(drawn) || allows(this.#options.index, user, asked));
  }

  sampleOne(draw: (pick: Draw) => SampledDecision | undefined): void {
    if (!this.#isDrawn()) return;
    const drawn = draw((values) => this.#pick(values));
    if (drawn !== undefined) this.#compareFirst(drawn.user, drawn.question, drawn.allowed);
  }

  isSuspended(subject: SubjectByNamespace): boolean {
    return this.#doubts.isDoubted(subject.cluster) || this.#options.index.isPartialFor(subject);
  }

  get incompleteBecause(): string | undefined {
    return this.#doubts.reason;
  }

  get suspensions(): Suspensions {
    return this.#doubts.suspensions;
  }

  stop(): void {
    this.#stopped.abort();
    for (const comparison of this.#comparisons) comparison.stop();
    this.#comparisons.clear();
  }

  #isDrawn(): boolean {
    const { oneIn, random } = this.#options;
    return oneIn > 0 && !this.#doubts.isOff && random.fraction() * oneIn < 1;
  }

  #pick<T>(values: readonly T[]): T | undefined {
    return values[Math.floor(this.#options.random.fraction() * values.length)];
  }

  /** The index says itself that it does not know it. */
  #isUndecided(user: RBACUser, question: Question): boolean {
    return 'namespace' in question && this.#options.index.isUndecided(user, question.namespace);
  }

  #compareFirst(user: RBACUser, question: Question, allowed: boolean): void {
    if (isNamedAmbiguously(user) || this.#isUndecided(user, question) || this.#stopped.signal.aborted) return;
    const { index, isRBACAlone, clock, telemetry } = this.#options;
    const waiting = [...this.#comparisons].filter(({ isWaiting }) => isWaiting).length;
    if (this.#reviews >= CONCURRENT_REVIEWS || waiting >= MAX_WAITING) {
      telemetry.accessVerified('dropped');
      return;
    }
    const comparison: Comparison = new Comparison({
      index,
      isRBACAlone,
      clock,
      user,
      question,
      review: () => this.#review(user, question),
      revision: () => this.#revision(),
      onEnd: (result) => {
        this.#comparisons.delete(comparison);
        telemetry.accessVerified(result);
        if (result === 'differed') this.#confirm(user, question);
      },
    });
    this.#comparisons.add(comparison);
    void comparison.compare(() => allowed);
  }

  /** Never rejects. */
  async #review(user: RBACUser, question: Question): Promise<ReviewedAccess | 'busy' | undefined> {
    const { source, logger } = this.#options;
    if (this.#reviews >= CONCURRENT_REVIEWS) return 'busy';
    this.#reviews += 1;
    try {
      return await source.review(user, question, this.#stopped.signal);
    } catch (error) {
      logger.debug({ error }, 'a decision of the RBAC index could not be compared');
      return undefined;
    } finally {
      this.#reviews -= 1;
    }
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

  #confirm(user: RBACUser, question: Question): void {
    const { logger, index } = this.#options;
    if (this.isSuspended(uniformSubject(user)) || this.#isUndecided(user, question)) return;
    const extent = this.#doubts.add(user);
    logger.warn(
      { ...shown(user, question), index: allows(index, user, question) ? 'allow' : 'noOpinion' },
      'the RBAC index and the API server disagree: filtered responses are off for this user for 10 minutes',
    );
    if (extent === 'tenant')
      logger.error(
        { tenant: user.home },
        'the RBAC index and the API server disagreed about three users of a tenant within an hour: its filtered responses are off until the configuration is reloaded',
      );
    if (extent === 'all')
      logger.error(
        {},
        'the RBAC index and the API server disagreed about users of three tenants within an hour: filtered responses are off until the configuration is reloaded',
      );
  }
}

/** Arktos' service accounts: their names contain no tenant, so that a review by name is about another one. */
function isNamedAmbiguously({ tenant, username }: RBACUser): boolean {
  return tenant !== '' && username.startsWith(SERVICE_ACCOUNT_PREFIX);
}

/** For the log. */
function shown({ tenant, username }: RBACUser, question: Question) {
  const user = untrustedText(username);
  if ('path' in question) return { tenant, user, verb: question.verb, path: untrustedText(question.path) };
  const { verb, apiGroup, resource, subresource, namespace, name } = question;
  return { tenant, user, verb, apiGroup, resource, subresource, namespace, object: untrustedText(name) };
}

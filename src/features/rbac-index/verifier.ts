/**
 * Compares a sample of the index's decisions with the API server's own, in the background. A difference that
 * lasts is logged and counted; it changes no response, since a user could cause it. See docs/access.md.
 */
import type { AccessAttributes, AccessReviewer } from '../../kubernetes/access-reviewer.ts';
import type { Question } from '../../kubernetes/authorizer-attributes.ts';
import { SERVICE_ACCOUNT_PREFIX } from '../../kubernetes/reserved-names.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { Telemetry } from '../../lib/telemetry.ts';
import { untrustedText } from '../../lib/untrusted-text.ts';
import { type RBACUser, type SubjectByNamespace, subjectIn } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import type { NamespacesQuestion } from '../../rbac/enumerate.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { toTenantName } from '../../tenancy/tenant-name.ts';
import { ACCESS_VERIFICATIONS, type VerificationResult } from './metrics.ts';

/** Draws one of the values by chance; undefined if there are none. */
type Draw = <T>(values: readonly T[]) => T | undefined;

interface SampledDecision {
  readonly user: RBACUser;
  readonly question: Question;
  readonly allowed: boolean;
}

export interface VerifierOptions {
  readonly index: RBACIndex;
  /** Asks the API server, charged to Stonegate's own account. */
  readonly reviewer: Pick<AccessReviewer, 'review'>;
  /** Whether the API server is an Arktos. */
  readonly inTenants: boolean;
  /** One decision in this many is compared; 0: none. */
  readonly oneIn: number;
  /** Otherwise an "allowed" or "denied" of the API server may be another authorizer's. */
  readonly isRBACAlone: boolean;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly logger: Pick<Logger, 'debug' | 'warn'>;
  readonly telemetry: Pick<Telemetry, 'count'>;
}

/** Milliseconds after which a difference is checked again: a right may have changed in between. */
const AGAIN_AFTER = 30_000;
/** Comparisons at a time, waiting ones included; further decisions are not compared. */
const MAX_COMPARISONS = 16;

/** `sample` or `sampleNamespaces` is called for each decision of the index that a response is made from. */
export class Verifier {
  readonly #options: VerifierOptions;
  readonly #stopped = new AbortController();
  #comparisons = 0;

  constructor(options: VerifierOptions) {
    this.#options = options;
  }

  /** Compares the decision with the API server's, if it is drawn. Returns at once and never throws. */
  sample(user: RBACUser, question: Question, allowed: boolean): void {
    this.#sample(() => ({ user, question, allowed }));
  }

  /**
   * Samples an enumeration, which counts as one decision.
   *
   * @param allowed as `namespacesAllowed` returned them
   */
  sampleNamespaces(
    subject: SubjectByNamespace,
    { name, ...question }: NamespacesQuestion,
    allowed: readonly string[],
  ): void {
    this.#sample((pick) => {
      const existing = [...this.#options.index.objectsOf(question.tenant).namespaces.keys()];
      // Half of them among those that are shown: most users may see few of the namespaces.
      const drawn = pick(allowed.length > 0 && pick([true, false]) === true ? allowed : existing);
      if (drawn === undefined) return undefined;
      const asked = { ...question, namespace: drawn, name: name === '' ? '' : drawn };
      const user = subjectIn(subject, drawn);
      // A right that makes nothing visible is a right all the same.
      const isRight = allowed.includes(drawn) || allows(this.#options.index, user, asked);
      return { user, question: asked, allowed: isRight };
    });
  }

  /** @param draw called if the decision is to be compared; returns undefined if there is none */
  #sample(draw: (pick: Draw) => SampledDecision | undefined): void {
    const { oneIn, random, telemetry } = this.#options;
    if (oneIn === 0 || random.fraction() * oneIn >= 1 || this.#stopped.signal.aborted) return;
    const drawn = draw((values) => values[Math.floor(random.fraction() * values.length)]);
    // The API server knows nothing of what an access token is limited to.
    if (drawn === undefined || drawn.user.scope !== undefined || isNamedAmbiguously(drawn.user)) return;
    if (this.#comparisons >= MAX_COMPARISONS) telemetry.count(ACCESS_VERIFICATIONS, { result: 'dropped' });
    else void this.#compare(drawn);
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Never rejects. */
  async #compare({ user, question, allowed }: SampledDecision): Promise<void> {
    const { index, clock, logger, telemetry } = this.#options;
    const { signal } = this.#stopped;
    this.#comparisons += 1;
    try {
      let result = await this.#review(user, question, () => allowed);
      if (result === 'differed') {
        await pause(clock, AGAIN_AFTER, signal);
        if (signal.aborted) return;
        result = await this.#review(user, question, () => allows(index, user, question));
        if (result === 'agreed') result = 'settled';
      }
      if (signal.aborted) return;
      telemetry.count(ACCESS_VERIFICATIONS, { result });
      if (result === 'differed')
        logger.warn(
          { ...shown(user, question), index: allows(index, user, question) ? 'allow' : 'noOpinion' },
          DISAGREE,
        );
    } catch (error) {
      logger.debug({ error }, 'a decision of the RBAC index could not be compared');
      if (!signal.aborted) telemetry.count(ACCESS_VERIFICATIONS, { result: 'failed' });
    } finally {
      this.#comparisons -= 1;
    }
  }

  /**
   * A SubjectAccessReview.
   *
   * @param decide called when the API server has answered
   * @throws StatusError if it does not
   */
  async #review(
    { username, groups }: RBACUser,
    question: Question,
    decide: () => boolean,
  ): Promise<VerificationResult> {
    const { reviewer, inTenants, isRBACAlone } = this.#options;
    const user = { username, uid: '', groups, extra: {} };
    const asked = attributesOf(question);
    const reviewed = await reviewer.review(user, asked, STONEGATE_ACCOUNT, this.#stopped.signal);
    // The answer is something that this release does not know.
    if (reviewed.unknownFields !== undefined) return 'unknown';
    if (reviewed.allowed === decide()) return 'agreed';
    // RBAC never denies. In Arktos a denial says that the tenant is another than the index has.
    const mayBeOthers = reviewed.allowed || (reviewed.denied === true && !inTenants);
    return mayBeOthers && !isRBACAlone ? 'otherAuthorizer' : 'differed';
  }
}

function attributesOf(question: Question): AccessAttributes {
  if ('path' in question) return { nonResourceAttributes: question };
  const { tenant, apiGroup: group, ...attributes } = question;
  const named = tenant !== '' && { tenant: toTenantName(tenant) };
  return { resourceAttributes: { ...attributes, group, ...named } };
}

const DISAGREE =
  'the RBAC index and the API server disagree about a user: see docs/access.md, "Is the index right?"';

/** Arktos' service accounts: their names contain no tenant, so that a review by name is about another one. */
function isNamedAmbiguously({ tenant, username }: RBACUser): boolean {
  return tenant !== '' && username.startsWith(SERVICE_ACCOUNT_PREFIX);
}

/** The question as it is logged. */
function shown({ tenant, username }: RBACUser, question: Question) {
  const user = untrustedText(username);
  if ('path' in question) return { tenant, user, verb: question.verb, path: untrustedText(question.path) };
  const { verb, apiGroup, resource, subresource, namespace, name } = question;
  return { tenant, user, verb, apiGroup, resource, subresource, namespace, object: untrustedText(name) };
}

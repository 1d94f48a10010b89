/**
 * Answers self reviews. A SelfSubjectReview is answered from the user that Stonegate would send. Other
 * reviews are sent to the API server as the user; if the user may not create them, Stonegate creates a review
 * about the user, unless the user's own token is forwarded, since by name it could be another user.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/
 */
import { z } from 'zod';
import { StatusError } from '../../errors/status-error.ts';
import type { AccessReviewer } from '../../kubernetes/access-reviewer.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { Clock } from '../../lib/clock.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { parseJSON } from '../../lib/parse-json.ts';
import type { RequestAs } from '../../proxy/access-subject.ts';
import { accountOf, reviewPlace } from '../../proxy/acting-tenant.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import type { FilteredReason } from '../../proxy/filtered-reason.ts';
import { fetchAsUser } from '../../proxy/request/fetch-as-user.ts';
import type { BodyLimits } from '../../proxy/request/read-body.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { asFiltered, jsonResponse, relayedResponse } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import type { RulesTrust } from '../../rbac/access-index.ts';
import { isGranted, withGrantedRules } from '../../tenancy/self-review.ts';
import type { Route, TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { indexedRules, MAX_RULES_BYTES, type RulesStatus, TOO_MANY } from './indexed-rules.ts';
import {
  type AccessQuestion,
  accessQuestion,
  accessReview,
  answerSubject,
  apiVersionOf,
  outsideScopeReason,
  readReviewSpec,
  rulesNamespace,
} from './review-body.ts';
import { scopedRules } from './scoped-rules.ts';

export interface SelfReviewOptions {
  readonly mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem' | 'hiddenResources'>;
  /** The request as it would be made in another namespace; absent if a user has the same roles everywhere. */
  readonly requestAs?: RequestAs;
  /** Absent if there is no RBAC index. */
  readonly filtered?: {
    /** The requests whose review may be answered here: `access.selfReviews`. */
    readonly extent: 'none' | 'namespaces' | 'all';
    readonly reason: FilteredReason;
  };
  /** What the RBAC index says; absent if there is none. */
  readonly indexed?: RulesTrust;
  readonly fetcher: UpstreamFetcher;
  readonly reviewer: AccessReviewer;
  readonly clock: Clock;
  readonly limits: BodyLimits;
}

type ReviewRoute = Extract<Route, { kind: 'self-review' }>;

export function createSelfReviewHandler(options: SelfReviewOptions): RouteHandler<UpstreamResponse> {
  return (outgoing) => handle(outgoing, routeAs(outgoing, 'self-review'), options);
}

async function handle(
  outgoing: Outgoing,
  route: ReviewRoute,
  options: SelfReviewOptions,
): Promise<UpstreamResponse> {
  const { limits, clock, requestAs = async (outgoing) => outgoing } = options;
  // The response depends on the user alone, so the body is not read.
  if (route.review === 'subject') return answerSubject(outgoing, clock);
  const spec = await readReviewSpec(outgoing.exchange, limits, clock);
  if (route.review === 'rules') {
    const namespace = rulesNamespace(spec);
    return answerRules(await requestAs(outgoing, namespace), route, namespace, options);
  }
  const question = accessQuestion(spec);
  const filtered = await answerFiltered(outgoing, question, options);
  if (filtered !== undefined) return filtered;
  const reason = outsideScopeReason(question, outgoing, options.mode);
  if (reason !== undefined) return accessReview(outgoing, question, { allowed: false, reason });
  const namespace = 'resourceAttributes' in question ? (question.resourceAttributes.namespace ?? '') : '';
  return answerAccess(await requestAs(outgoing, namespace), route, question, options);
}

async function answerAccess(
  outgoing: Outgoing,
  route: ReviewRoute,
  asked: AccessQuestion,
  { fetcher, reviewer, mode }: SelfReviewOptions,
): Promise<UpstreamResponse> {
  const spec = inTenant(asked, outgoing, mode);
  const review = {
    kind: 'SelfSubjectAccessReview',
    apiVersion: apiVersionOf(outgoing),
    metadata: {},
    spec,
  };
  if (namesAnother(asked, outgoing, mode))
    return accessReview(outgoing, asked, { allowed: false, denied: true });
  if (!mode.isSystem(outgoing.tenant) && isGranted(spec))
    return accessReview(outgoing, spec, { allowed: true, reason: 'Stonegate does this for everybody' });
  const response = await fetchAsUser(fetcher, outgoing, { ...route, body: review });
  if (response.status !== 403 || outgoing.sender.kind === 'client') return relayedResponse(response);
  const { signal } = outgoing.exchange;
  const reviewed = await reviewer.review(outgoing.user, spec, accountOf(outgoing), signal);
  return accessReview(outgoing, spec, reviewed);
}

/** Stonegate answers for these resources of the core group without a request to each namespace. */
const ALWAYS: ReadonlySet<string> = new Set(['namespaces', 'tenants']);

/**
 * "Allowed" for what is answered with a filtered response, since many clients ask before they list, and would
 * not list after a "no". The reason says that the response is filtered.
 *
 * @returns undefined if the API server's response is what a request would get
 */
async function answerFiltered(
  outgoing: Outgoing,
  asked: AccessQuestion,
  { filtered, mode }: SelfReviewOptions,
): Promise<UpstreamResponse | undefined> {
  if (filtered === undefined || !('resourceAttributes' in asked)) return undefined;
  if (namesAnother(asked, outgoing, mode)) return undefined;
  const { group = '', resource = '' } = asked.resourceAttributes;
  const isAlways = group === '' && ALWAYS.has(resource);
  const { extent } = filtered;
  if (extent === 'none' || (extent === 'namespaces' && !isAlways) || resource === 'secrets') return undefined;
  const reason = await filtered.reason(outgoing, asked.resourceAttributes);
  if (typeof reason !== 'string') return undefined;
  const status = { allowed: true, reason: `Stonegate: ${reason}` };
  return asFiltered(accessReview(outgoing, inTenant(asked, outgoing, mode), status));
}

/** Whether a tenant's user asks about another tenant: Arktos denies that without looking at any rule. */
function namesAnother(
  asked: AccessQuestion,
  { tenant }: Outgoing,
  mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>,
): boolean {
  if (!('resourceAttributes' in asked) || mode.isSystem(tenant)) return false;
  const { tenant: named } = asked.resourceAttributes;
  const own = mode.reviewTenant(tenant);
  return own !== undefined && named !== undefined && named !== own;
}

/** Fills in the user's own tenant; only a user of the system tenant may name another. */
function inTenant(
  asked: AccessQuestion,
  { tenant }: Outgoing,
  mode: SelfReviewOptions['mode'],
): AccessQuestion {
  if (!('resourceAttributes' in asked)) return asked;
  const { tenant: named, ...attributes } = asked.resourceAttributes;
  const place = reviewPlace(mode, tenant, attributes, mode.isSystem(tenant) ? named : undefined);
  return { resourceAttributes: place === undefined ? attributes : { ...attributes, tenant: place } };
}

async function answerRules(
  outgoing: Outgoing,
  route: ReviewRoute,
  namespace: string,
  { fetcher, mode, indexed }: SelfReviewOptions,
): Promise<UpstreamResponse> {
  const review = { kind: 'SelfSubjectRulesReview', apiVersion: apiVersionOf(outgoing), metadata: {} };
  const response = await fetchAsUser(fetcher, outgoing, {
    ...route,
    body: { ...review, spec: { namespace } },
  });
  const { tenant, identity } = outgoing;
  const isRelayed = mode.isSystem(tenant) && identity.accessToken === undefined;
  if (response.status !== 403 && (response.status !== 201 || isRelayed)) return relayedResponse(response);
  const rules =
    response.status === 201
      ? rulesIn(response)
      : (indexedRules(outgoing, namespace, mode, indexed) ?? unknownRules(NOT_TOLD));
  const place = { namespace, tenant: mode.reviewTenant(tenant) ?? '' };
  const status = withGrantedRules(scopedRules(rules, identity.accessToken, place));
  return jsonResponse(201, { ...review, spec: {}, status });
}

const NOT_TOLD =
  'this user may not create selfsubjectrulesreviews, so the API server does not tell its rules; the list holds only what Stonegate itself grants';

function unknownRules(evaluationError: string): RulesStatus {
  return { resourceRules: [], nonResourceRules: [], incomplete: true, evaluationError };
}

const RULES_REVIEW = z.object({ status: z.custom<RulesStatus>(isRulesStatus) });

/** @throws StatusError UpstreamUnavailable for a response that is no review */
function rulesIn({ body }: UpstreamResponse): RulesStatus {
  if (body.length > MAX_RULES_BYTES) return unknownRules(TOO_MANY);
  const review = parseJSON(body.toString('utf8'), RULES_REVIEW);
  if (review !== undefined) return review.status;
  throw new StatusError('UpstreamUnavailable', 'the API server answered a rules review with something else');
}

function isRulesStatus(status: unknown): boolean {
  return (
    isJSONObject(status) && Array.isArray(status.resourceRules) && Array.isArray(status.nonResourceRules)
  );
}

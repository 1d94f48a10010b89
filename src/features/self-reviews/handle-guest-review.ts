/**
 * Answers self reviews of guests. What a guest may do needs both: a policy, asked here as for a request, and
 * RBAC in the entered tenant, asked as the guest that this policy would make. Rules are not listed for
 * guests. https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/
 */

import type { AccessReviewer, ReviewedStatus } from '../../kubernetes/access-reviewer.ts';
import type { NonResourceAttributes, ResourceAttributes } from '../../kubernetes/authorization-v1.ts';
import { forbidden } from '../../kubernetes/forbidden.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { Clock } from '../../lib/clock.ts';
import { accountOf, reviewPlace } from '../../proxy/acting-tenant.ts';
import { type Crossing, guestOf, permitOf } from '../../proxy/crossing.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import { reviewedQuestion } from '../../proxy/rbac-reasons.ts';
import type { BodyLimits } from '../../proxy/request/read-body.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import type { Policies } from '../../proxy/tenant-entry.ts';
import { isGranted } from '../../tenancy/self-review.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import {
  type AccessQuestion,
  accessQuestion,
  accessReview,
  answerSubject,
  outsideScopeReason,
  readReviewSpec,
} from './review-body.ts';

export interface GuestReviewOptions {
  readonly mode: Pick<TenancyMode, 'guests' | 'hiddenResources' | 'reviewTenant' | 'isSystem'>;
  readonly policies: Policies;
  readonly reviewer: AccessReviewer;
  readonly clock: Clock;
  readonly limits: BodyLimits;
}

export function createGuestReviewHandler(options: GuestReviewOptions): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const { info, user, crossing } = outgoing;
    const { review } = routeAs(outgoing, 'self-review');
    if (review === 'subject') return answerSubject(outgoing, options.clock);
    if (review === 'access' && crossing !== undefined) return answerAccess(outgoing, crossing, options);
    throw forbidden('AccessDenied', info, user.username, crossing?.tenant);
  };
}

async function answerAccess(
  outgoing: Outgoing,
  crossing: Crossing,
  options: GuestReviewOptions,
): Promise<UpstreamResponse> {
  const asked = accessQuestion(await readReviewSpec(outgoing.exchange, options.limits, options.clock));
  const { tenant } = crossing;
  const spec =
    'resourceAttributes' in asked ? { resourceAttributes: { ...asked.resourceAttributes, tenant } } : asked;
  const reason = outsideScopeReason(asked, outgoing, options.mode);
  if (reason !== undefined) return accessReview(outgoing, spec, { allowed: false, reason });
  return accessReview(outgoing, spec, await statusOf(asked, outgoing, crossing, options));
}

async function statusOf(
  asked: AccessQuestion,
  outgoing: Outgoing,
  crossing: Crossing,
  options: GuestReviewOptions,
): Promise<ReviewedStatus> {
  if (!('resourceAttributes' in asked)) return pathStatus(asked.nonResourceAttributes);
  const { tenant: named = crossing.tenant, ...attributes } = asked.resourceAttributes;
  if (named !== crossing.tenant) return { allowed: false, denied: true };
  if (isOfEveryGuest(attributes)) return GRANTED;
  const { policies, clock, mode, reviewer } = options;
  const request = { ...reviewedQuestion(attributes, ''), isResourceRequest: true as const };
  const permit = permitOf(crossing.entry, request, policies, clock.now());
  if (permit === undefined) return { allowed: false, reason: 'no policy that lets the user in allows this' };
  const guest = guestOf({ ...crossing, policy: permit.policy }, mode);
  const tenant = reviewPlace(mode, crossing.tenant, attributes);
  const resourceAttributes = tenant === undefined ? attributes : { ...attributes, tenant };
  return reviewer.review(guest, { resourceAttributes }, accountOf(outgoing), outgoing.exchange.signal);
}

const GRANTED: ReviewedStatus = { allowed: true, reason: 'Stonegate does this for every user it lets in' };

function pathStatus(nonResourceAttributes: NonResourceAttributes): ReviewedStatus {
  return isGranted({ nonResourceAttributes }) ? GRANTED : { allowed: false };
}

const OF_EVERY_GUEST: ReadonlySet<string> = new Set([
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authentication.k8s.io/selfsubjectreviews',
]);

function isOfEveryGuest({ verb, group = '', resource = '', subresource = '' }: ResourceAttributes): boolean {
  return verb === 'create' && subresource === '' && OF_EVERY_GUEST.has(`${group}/${resource}`);
}

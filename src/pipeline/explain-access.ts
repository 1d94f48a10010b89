/**
 * Whether the API server's own RBAC would let the request through: the most common refusal of all is not Stonegate's.
 */
import { type AccessAttributes, type AccessReviewer, reviewOf } from '../authorization/access-reviewer.ts';
import { StatusError } from '../errors/status-error.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Trail } from './explain-trail.ts';
import type { Outgoing } from './request-context.ts';

/** Notes what the API server says; that it cannot be asked is noted too. */
export async function askRBAC(
  outgoing: Outgoing,
  mode: TenancyMode,
  reviewer: AccessReviewer,
  trail: Trail,
): Promise<void> {
  if (outgoing.route.kind !== 'forward') return;
  const { user, sender, tenant, exchange } = outgoing;
  const subject = { user, sender, home: mode.reviewTenant(tenant), tenant };
  const note = (decision: 'passed' | 'refused' | 'unknown', reason: string) =>
    trail.note({ name: 'accessReview', decision, reason });
  try {
    const answer = await reviewOf(reviewer, subject, questionOf(outgoing, mode), exchange.signal);
    const { allowed, denied = false, reason = '', evaluationError = '' } = answer;
    const why = [reason, evaluationError].filter((text) => text !== '').join('; ');
    if (allowed && !denied) note('passed', `the API server allows it${why === '' ? '' : `: ${why}`}`);
    else note('refused', `the API server will answer 403${why === '' ? ': no role allows it' : `: ${why}`}`);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    note('unknown', `the API server cannot be asked: ${trail.causeOf(error) || error.message}`);
  }
}

function questionOf({ info, tenant }: Outgoing, mode: TenancyMode): AccessAttributes {
  const { verb } = info;
  if (!info.isResourceRequest) return { nonResourceAttributes: { path: info.rawPath, verb } };
  const { apiGroup: group, apiVersion: version, namespace, resource, subresource, name } = info;
  const attributes = { verb, group, version, namespace, resource, subresource, name };
  // What is kept once for the whole cluster is in no tenant.
  const clusterWide = !mode.isSystem(tenant) && mode.hiddenResources.has(`${group}/${resource}`);
  const asked = info.tenant === '' ? mode.reviewTenant(tenant) : info.tenant;
  return {
    resourceAttributes: clusterWide || asked === undefined ? attributes : { ...attributes, tenant: asked },
  };
}

/**
 * Judges an AdmissionReview by the quota of the object's tenant. Only what asks for more is refused; objects
 * of the system and of no tenant are allowed.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import { StatusError } from '../../errors/status-error.ts';
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';
import type { NamespaceQuotas } from '../../kubernetes/resource-quota/namespace-quotas.ts';
import { objectUsage } from '../../kubernetes/resource-quota/object-usage.ts';
import { missingRequests } from '../../kubernetes/resource-quota/pod-usage.ts';
import { NOTHING } from '../../kubernetes/resource-quota/usage.ts';
import type { Telemetry } from '../../lib/telemetry.ts';
import { type ReviewRule, undecided, type Verdict } from '../review-rule.ts';
import { QUOTA_REVIEWS } from './metrics.ts';
import { forbidden, type QuotaRefusal, refusalOf } from './quota-refusal.ts';
import type { QuotaTenantOf } from './quota-tenants.ts';
import { objectIDOf, UNKNOWN_REVISION } from './reservation.ts';
import type { Reservations } from './reservations.ts';

export interface QuotaReviewerOptions {
  readonly tenantOf: QuotaTenantOf;
  readonly reservations: Reservations;
  /** Undefined if nothing is reserved. */
  readonly namespaceQuotas?: NamespaceQuotas | undefined;
  readonly mode: 'enforce' | 'warn';
  readonly telemetry: Pick<Telemetry, 'count'>;
}

export function createQuotaReviewer(options: QuotaReviewerOptions): ReviewRule['review'] {
  return (request) => ({
    async complete({ signal }) {
      try {
        const tenant = await options.tenantOf(request, signal);
        const refusal = tenant === undefined ? undefined : await refusalBy(tenant, request, options, signal);
        return verdictOn(request, tenant, refusal, options.mode);
      } catch (error) {
        if (signal.aborted) return undecided(request, 'its quota could not be read in time');
        if (error instanceof StatusError)
          return undecided(request, `its quota could not be read: ${error.message}`);
        throw error;
      }
    },
  });
}

async function refusalBy(
  tenant: string,
  request: AdmissionRequest,
  { reservations, namespaceQuotas, telemetry }: QuotaReviewerOptions,
  signal: AbortSignal,
): Promise<QuotaRefusal | undefined> {
  const { object, oldObject, operation, isDryRun } = request;
  const id = objectIDOf(object);
  // A deletion asks for nothing.
  if (id === undefined) return undefined;
  const resource = resourceName(request);
  const { namespace = '', name = '' } = metadataOf(object);
  const isNewPod = resource === 'pods' && operation === 'CREATE';
  const asked = {
    id,
    object: { resource, namespace: String(namespace), name: String(name) },
    revision: revisionOf(oldObject),
    before: oldObject === undefined ? NOTHING : objectUsage(request, oldObject),
    after: objectUsage(request, object),
    isDryRun,
    missing: (hard: Iterable<string>) => (isNewPod ? missingRequests(object, hard) : []),
    signal,
  };
  const refusal = await namespaceQuotas?.refusal(object, asked);
  if (refusal !== undefined) {
    telemetry.count(QUOTA_REVIEWS, { result: 'namespace' });
    return forbidden(refusal);
  }
  const { verdict, quota } = await reservations.admit(tenant, asked);
  telemetry.count(QUOTA_REVIEWS, { result: verdict.kind });
  // The first namespace tells the controller that there is a tenant which needs a quota.
  if (verdict.kind === 'absent' && resource === 'namespaces') return undefined;
  return refusalOf(verdict, tenant, quota?.spec.hard ?? {});
}

/** @returns 0 for an object that is created */
function revisionOf(object: unknown): number {
  if (object === undefined) return 0;
  const revision = Number(metadataOf(object).resourceVersion);
  return Number.isSafeInteger(revision) ? revision : UNKNOWN_REVISION;
}

function verdictOn(
  { uid }: AdmissionRequest,
  tenant: string | undefined,
  refusal: QuotaRefusal | undefined,
  mode: 'enforce' | 'warn',
): Verdict {
  const fields = tenant === undefined ? {} : { tenant };
  if (refusal === undefined) return { response: { uid, allowed: true }, result: 'allowed', fields };
  const { message, retryAfterSeconds, ...status } = refusal;
  const refused = { ...fields, rules: ['quota'], reason: message };
  if (mode === 'warn') {
    const response = { uid, allowed: true, warnings: [message.slice(0, 250)] };
    return { response, result: 'warned', fields: refused };
  }
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  return {
    response: { uid, allowed: false, status: { status: 'Failure', ...status, message, ...details } },
    result: refusal.code === 403 ? 'denied' : 'error',
    fields: refused,
  };
}

/**
 * Judges an AdmissionReview by the quota of the object's tenant. Only what asks for more is refused; objects
 * of the system and of no tenant are allowed.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import { StatusError } from '../../errors/status-error.ts';
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';
import { objectUsage } from '../../kubernetes/resource-quota/object-usage.ts';
import { missingRequests } from '../../kubernetes/resource-quota/pod-usage.ts';
import { NOTHING, type Usage } from '../../kubernetes/resource-quota/usage.ts';
import type { Telemetry } from '../../lib/telemetry.ts';
import { type ReviewRule, undecided, type Verdict } from '../review-rule.ts';
import { QUOTA_REVIEWS } from './metrics.ts';
import type { NamespaceQuotas } from './namespace-quotas.ts';
import { type QuotaRefusal, refusalOf } from './quota-refusal.ts';
import { identityOf, type QuotaTenantOf } from './quota-tenants.ts';
import { type ReservedObject, UNKNOWN_REVISION } from './reservation.ts';
import type { QuotaRequest, Reservations } from './reservations.ts';

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
        return await judge(request, options, signal);
      } catch (error) {
        if (signal.aborted) return undecided(request, 'its quota could not be read in time');
        if (error instanceof StatusError)
          return undecided(request, `its quota could not be read: ${error.message}`);
        throw error;
      }
    },
  });
}

async function judge(
  request: AdmissionRequest,
  { tenantOf, reservations, namespaceQuotas, mode, telemetry }: QuotaReviewerOptions,
  signal: AbortSignal,
): Promise<Verdict> {
  const tenant = await tenantOf(request, signal);
  // A deletion asks for nothing.
  const id = identityOf(request.object);
  if (tenant === undefined || id === undefined) return verdictOn(request, tenant, undefined, mode);
  const asked: QuotaRequest = {
    id,
    object: objectOf(request),
    revision: revisionOf(request.oldObject),
    before: usageOf(request, request.oldObject),
    after: usageOf(request, request.object),
    isDryRun: request.isDryRun,
    missing: (hard) => (isPod(request) ? missingRequests(request.object, hard) : []),
    signal,
  };
  const refused = await namespaceQuotas?.refusal(request.object, asked);
  if (refused !== undefined) {
    telemetry.count(QUOTA_REVIEWS, { result: 'namespace' });
    return verdictOn(
      request,
      tenant,
      refusalOf(refused.verdict, refused.quota.name, refused.quota.hard),
      mode,
    );
  }
  const { verdict, quota } = await reservations.admit(tenant, asked);
  telemetry.count(QUOTA_REVIEWS, { result: verdict.kind });
  // The first namespace tells the controller that there is a tenant which needs a quota.
  const isFirst = verdict.kind === 'absent' && request.resource === 'namespaces' && request.group === '';
  const refusal = isFirst ? undefined : refusalOf(verdict, tenant, quota?.spec.hard ?? {});
  return verdictOn(request, tenant, refusal, mode);
}

function objectOf({ group, resource, object }: AdmissionRequest): ReservedObject {
  const { namespace = '', name = '' } = metadataOf(object);
  return { resource: resourceName({ group, resource }), namespace: String(namespace), name: String(name) };
}

/** @returns 0 for an object that is created */
function revisionOf(object: unknown): number {
  if (object === undefined) return 0;
  const revision = Number(metadataOf(object).resourceVersion);
  return Number.isSafeInteger(revision) ? revision : UNKNOWN_REVISION;
}

function usageOf({ group, resource }: AdmissionRequest, object: unknown): Usage {
  return object === undefined ? NOTHING : objectUsage({ group, resource }, object);
}

function isPod({ group, resource, operation }: AdmissionRequest): boolean {
  return group === '' && resource === 'pods' && operation === 'CREATE';
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
  const said = { ...fields, rules: ['quota'], reason: message };
  if (mode === 'warn')
    return {
      response: { uid, allowed: true, warnings: [message.slice(0, 250)] },
      result: 'warned',
      fields: said,
    };
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  return {
    response: { uid, allowed: false, status: { status: 'Failure', ...status, message, ...details } },
    result: refusal.code === 403 ? 'denied' : 'error',
    fields: said,
  };
}

/**
 * What a client is told whose request exceeds the quota of its tenant, in the words of Kubernetes'
 * ResourceQuota.
 */
import {
  exceededText,
  exceedingQuota,
  unspecifiedText,
} from '../../kubernetes/resource-quota/quota-check.ts';
import type { Usage } from '../../kubernetes/resource-quota/usage.ts';
import type { Ledger } from './ledger.ts';
import type { QuotaVerdict } from './reservations.ts';

export interface QuotaRefusal {
  readonly code: 403 | 429 | 503;
  readonly reason: 'Forbidden' | 'TooManyRequests' | 'ServiceUnavailable';
  readonly message: string;
  /** Seconds after which it may succeed. */
  readonly retryAfterSeconds?: number;
}

/**
 * @param tenant its name is also that of the quota
 * @param hard the quantities of the quota
 */
export function refusalOf(
  verdict: QuotaVerdict,
  tenant: string,
  hard: Readonly<Record<string, string>>,
): QuotaRefusal | undefined {
  switch (verdict.kind) {
    case 'admitted':
      return undefined;
    case 'unspecified':
      return forbidden(unspecifiedText(tenant, verdict.missing));
    case 'exceeded':
      return forbidden(exceededBy(verdict.requested, verdict.ledger, tenant, hard));
    case 'full':
      return later(`too many requests of the tenant ${tenant} are in progress: please try again later`, 5);
    case 'contended':
      return later(
        `the quota of the tenant ${tenant} is changed by many requests at once: please try again`,
        1,
      );
    case 'absent':
      return unavailable(`the tenant ${tenant} has no quota yet: Stonegate creates it within a minute`);
    case 'uncounted':
      return unavailable(
        `status unknown for quota: ${tenant}, resources: ${verdict.resources.join(', ')}: its usage has not been counted yet`,
      );
  }
}

function exceededBy(
  requested: Usage,
  { hard: limited, used, reserved }: Ledger,
  quota: string,
  hard: Readonly<Record<string, string>>,
): string {
  const isReserved = [...requested.keys()].some((resource) => reserved.get(resource));
  const amounts = { used, ...(isReserved && { reserved }), limited };
  const fits = exceedingQuota(requested, limited, used).size === 0;
  const hint = fits ? ' (only requests in progress are in the way: try again in a minute)' : '';
  return `${exceededText(quota, requested, amounts, hard)}${hint}`;
}

export function forbidden(message: string): QuotaRefusal {
  return { code: 403, reason: 'Forbidden', message };
}

function later(message: string, retryAfterSeconds: number): QuotaRefusal {
  return { code: 429, reason: 'TooManyRequests', message, retryAfterSeconds };
}

function unavailable(message: string): QuotaRefusal {
  return { code: 503, reason: 'ServiceUnavailable', message };
}

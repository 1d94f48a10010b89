/**
 * What a client is told whose request exceeds the quota of its tenant, in the words of Kubernetes'
 * ResourceQuota. `quota` names the TenantQuota, which is named like the tenant.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
 */
import type { Exceeded } from './ledger.ts';
import type { QuotaVerdict } from './reservations.ts';
import { amountText } from './stored-ledger.ts';

export interface QuotaRefusal {
  readonly code: 403 | 429 | 503;
  readonly reason: 'Forbidden' | 'TooManyRequests' | 'ServiceUnavailable';
  readonly message: string;
  /** Seconds after which it may succeed. */
  readonly retryAfterSeconds?: number;
}

/** @param hard the quantities of the quota */
export function refusalOf(
  verdict: QuotaVerdict,
  quota: string,
  hard: Readonly<Record<string, string>>,
): QuotaRefusal | undefined {
  switch (verdict.kind) {
    case 'admitted':
      return undefined;
    case 'unspecified':
      return forbidden(`failed quota: ${quota}: must specify ${verdict.missing.join('; ')}`);
    case 'exceeded':
      return forbidden(exceededText(verdict.exceeded, quota, hard));
    case 'full':
      return later(`too many requests of the tenant ${quota} are in progress: please try again later`, 5);
    case 'contended':
      return later(
        `the quota of the tenant ${quota} is changed by many requests at once: please try again`,
        1,
      );
    case 'absent':
      return unavailable(`the tenant ${quota} has no quota yet: Stonegate creates it within a minute`);
    case 'uncounted':
      return unavailable(
        `status unknown for quota: ${quota}, resources: ${verdict.resources.join(', ')}: its usage has not been counted yet`,
      );
  }
}

function exceededText(
  exceeded: readonly Exceeded[],
  quota: string,
  hard: Readonly<Record<string, string>>,
): string {
  const list = (amountOf: (one: Exceeded) => bigint) =>
    exceeded.map((one) => `${one.resource}=${amountText(amountOf(one), hard[one.resource] ?? '')}`).join(',');
  const isReserved = exceeded.some(({ reserved }) => reserved > 0n);
  const fits = exceeded.every(({ used, requested, hard: most }) => used + requested <= most);
  return [
    `exceeded quota: ${quota}`,
    `requested: ${list(({ requested }) => requested)}`,
    `used: ${list(({ used }) => used)}`,
    ...(isReserved ? [`reserved: ${list(({ reserved }) => reserved)}`] : []),
    `limited: ${list(({ hard: most }) => most)}${fits ? ' (only requests in progress are in the way: try again in a minute)' : ''}`,
  ].join(', ');
}

function forbidden(message: string): QuotaRefusal {
  return { code: 403, reason: 'Forbidden', message };
}

function later(message: string, retryAfterSeconds: number): QuotaRefusal {
  return { code: 429, reason: 'TooManyRequests', message, retryAfterSeconds };
}

function unavailable(message: string): QuotaRefusal {
  return { code: 503, reason: 'ServiceUnavailable', message };
}

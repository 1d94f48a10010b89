/**
 * TenantQuota of Stonegate's own API, `stonegate.dev/v1alpha1`: what users see of the quota of their tenant.
 * The stored object, `tenancy.stonegate.dev/v1alpha1`, is the operator's and holds more.
 */
import { z } from 'zod';
import { parseQuantity } from '../../kubernetes/quantity.ts';
import type { Output } from '../../lib/schema-fields.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import { tenantQuotaSpecSchema, tenantQuotaStatusSchema } from './tenant-quota-v1alpha1.ts';

const statusSchema = tenantQuotaStatusSchema.pick({ used: true, conditions: true }).extend({
  reserved: z
    .record(z.string(), z.string())
    .exactOptional()
    .describe('What was admitted and is not counted in used yet.'),
});

/** Without its kind and version. */
export interface ShownQuota {
  readonly metadata: { readonly name: string; readonly uid: string; readonly creationTimestamp: string };
  readonly spec: Output<typeof tenantQuotaSpecSchema>;
  readonly status: Output<typeof statusSchema>;
}

export const OWN_QUOTAS: OwnResource = {
  name: 'tenantquotas',
  shortNames: ['tquota'],
  kind: 'TenantQuota',
  namespaced: false,
  verbs: ['get', 'list'],
  inTenant: true,
  needs: { setting: 'quota', what: 'quotas' },
  description: "TenantQuota is what the user's tenant may use of the cluster in all, and what it uses.",
  schemas: { spec: tenantQuotaSpecSchema, status: statusSchema },
};

/** A limited resource as a line of a table. */
export interface QuotaRow {
  readonly resource: string;
  /** Undefined until it was counted once. */
  readonly used: string | undefined;
  /** What is on its way beside `used`; undefined if there is nothing. */
  readonly reserved: string | undefined;
  readonly hard: string;
  /** Used of hard, rounded down; above 100 if the quota was lowered. Undefined like `used`. */
  readonly percent: number | undefined;
}

type QuotaContent = Pick<ShownQuota, 'spec' | 'status'>;

export function quotaRows({ spec: { hard }, status }: QuotaContent): QuotaRow[] {
  return Object.entries(hard)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([resource, most]) => {
      const used = status.used?.[resource];
      const percent = used === undefined ? undefined : Math.floor(tenThousandths(used, most) / 100);
      return { resource, used, reserved: status.reserved?.[resource], hard: most, percent };
    });
}

/** @returns what limits nothing, or is not counted at the moment; undefined if everything is in order */
export function quotaProblem({
  status: { conditions = [] },
}: Pick<ShownQuota, 'status'>): string | undefined {
  return conditions.find(({ status }) => status === 'False')?.message;
}

/** Such as `pods: 3/10, requests.cpu: 1/4`. */
export function quotaSummary(quota: QuotaContent): string {
  return quotaRows(quota)
    .map(({ resource, used = '?', hard }) => `${resource}: ${used}/${hard}`)
    .join(', ');
}

/** 1 if all is used; 0 if nothing is used, even if nothing may be. */
export function usedRatio(used: string, hard: string): number {
  return tenThousandths(used, hard) / 10_000;
}

/** Whole ones, rounded down, whatever the size of the amounts. */
function tenThousandths(used: string, hard: string): number {
  const [amount, most] = [parseQuantity(used) ?? 0n, parseQuantity(hard) ?? 0n];
  if (most === 0n) return amount === 0n ? 0 : 10_000;
  return Number((10_000n * amount) / most);
}

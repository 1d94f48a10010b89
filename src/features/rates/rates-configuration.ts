/**
 * The fields of the section `limits` that bound the rate of requests. A rate counts tokens: a request costs
 * as many as its class.
 */
import { z } from 'zod';
import { count, type Output, rate, sentence, tenant, toggle } from '../../lib/schema-fields.ts';

const costs = z.strictObject({
  get: count.default(1).describe('A get, and every request that is not about a resource.'),
  list: count.default(5).describe('A list.'),
  watch: count.default(5).describe('The beginning of a watch.'),
  write: count.default(2).describe('Create, update, patch, delete and deletecollection.'),
  connect: count.default(10).describe('Exec, attach, port-forward, proxy, and a log that is followed.'),
});

export const rateFields = {
  perTenant: rate.exactOptional().describe('Rate of the requests of one tenant; without it unlimited.'),
  perUser: rate
    .exactOptional()
    .describe('Rate of the requests of one user, also with `--as`; without it unlimited.'),
  tenants: z
    .record(tenant, rate)
    .default({})
    .describe('Tenant → its rate, which replaces `perTenant` for it.'),
  costs: costs.prefault({}).describe('What a request costs of these rates, by its class.'),
  shadow: toggle('Whether requests beyond these rates are only counted (`stonegate_rate_limited_total`).'),
  processes: count
    .default(1)
    .describe(
      'Replicas × `server.workers`. Without Redis, or while it is down, each process admits this part of the rates.',
    ),
};

const rates = z.strictObject(rateFields);
export type RatesConfiguration = Output<typeof rates>;

/** A request that costs more than the burst would never be admitted. */
export function refuseUnaffordable(limits: RatesConfiguration, context: z.core.$RefinementCtx): void {
  const dearest = dearestOf(limits);
  const bursts: readonly (readonly [path: readonly string[], burst: number | undefined])[] = [
    [['perTenant'], limits.perTenant?.burst],
    [['perUser'], limits.perUser?.burst],
    ...Object.entries(limits.tenants).map(([name, { burst }]) => [['tenants', name], burst] as const),
  ];
  for (const [path, burst = dearest] of bursts) {
    if (burst >= dearest) continue;
    const message = `expected at least ${dearest}, the highest of limits.costs, found ${burst}: a request that costs more would never be admitted`;
    context.addIssue({ code: 'custom', ...sentenceAt(message, path) });
  }
}

function sentenceAt(message: string, path: readonly string[]) {
  const { error, ...issue } = sentence(message, ...path, 'burst');
  return { ...issue, message: error };
}

/** The highest cost of a request. */
export function dearestOf({ costs }: Pick<RatesConfiguration, 'costs'>): number {
  return Math.max(...Object.values(costs));
}

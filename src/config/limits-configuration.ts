/**
 * The section `limits`. A rate counts tokens: a request costs as many as its class.
 */
import { z } from 'zod';
import {
  count,
  duration,
  type Output,
  period,
  rate,
  sentence,
  tenant,
  toggle,
} from '../lib/schema-fields.ts';
import { TENANT_QUEUE_BYTES } from '../limits/memory-bounds.ts';

/** Limits that each process applies by itself. */
const processFields = {
  unknownCredentials: z
    .strictObject({
      perSource: rate
        .default({ perSecond: 10, burst: 50 })
        .describe('Rate of credentials that are not cached, per client address.'),
      concurrent: count.default(16).describe('Concurrent validations.'),
      queue: z.int().min(0).default(64).describe('How many further validations may be queued.'),
      queueTimeout: duration.prefault('2s').describe('How long they may be queued.'),
    })
    .prefault({})
    .describe(
      'Protects Keystone and the API server from floods of unknown credentials. Each source of identities (Keystone, TokenReview, the basic-auth file, the webhook) has its own limits.',
    ),
  tenantQueue: z
    .strictObject({
      requests: count.default(256).describe('Maximum number of queued requests.'),
      bytes: z
        .int()
        .min(1_048_576)
        .default(TENANT_QUEUE_BYTES)
        .describe('Bytes that they may use in memory: heads, and bodies as far as they are read ahead.'),
    })
    .prefault({})
    .describe(
      'The queue of a tenant that has used up its connections to the API server. Further requests get 429 at once. All tenants together may queue 16 times as much.',
    ),
  streams: z
    .strictObject({
      perUser: count.default(500).describe('Maximum number of open streams of a user.'),
      perTenant: count.default(5_000).describe('Maximum number of open streams of all users of a tenant.'),
      endWithCredential: toggle('Whether watches and followed logs end when their credential expires.', true),
      recheck: period
        .prefault('60s')
        .describe('The credential of an open stream is validated again after at least this time.'),
      tunnelMaxAge: period
        .prefault('24h')
        .describe('Maximum duration of exec, attach, port-forward and proxy.'),
    })
    .prefault({})
    .describe('Long-running requests: watch, followed logs, exec, attach, port-forward and proxy.'),
};

const costs = z.strictObject({
  get: count.default(1).describe('A get, and every request that is not about a resource.'),
  list: count.default(5).describe('A list.'),
  watch: count.default(5).describe('The beginning of a watch.'),
  write: count.default(2).describe('Create, update, patch, delete and deletecollection.'),
  connect: count.default(10).describe('Exec, attach, port-forward, proxy, and a log that is followed.'),
});

/** Rates, which the processes with one Redis share. */
const rateFields = {
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

export const limitsSchema = z
  .strictObject({ ...processFields, ...rateFields })
  .superRefine(refuseSmallBursts);

/** A request that costs more than the burst would never be admitted. */
function refuseSmallBursts(limits: RatesConfiguration, context: z.core.$RefinementCtx): void {
  const highest = highestCost(limits);
  const bursts: readonly (readonly [path: readonly string[], burst: number | undefined])[] = [
    [['perTenant'], limits.perTenant?.burst],
    [['perUser'], limits.perUser?.burst],
    ...Object.entries(limits.tenants).map(([name, { burst }]) => [['tenants', name], burst] as const),
  ];
  for (const [path, burst = highest] of bursts) {
    if (burst >= highest) continue;
    const message = `expected at least ${highest}, the highest of limits.costs, found ${burst}: a request that costs more would never be admitted`;
    context.addIssue({ code: 'custom', ...sentenceAt(message, path) });
  }
}

function sentenceAt(message: string, path: readonly string[]) {
  const { error, ...issue } = sentence(message, ...path, 'burst');
  return { ...issue, message: error };
}

export function highestCost({ costs }: Pick<RatesConfiguration, 'costs'>): number {
  return Math.max(...Object.values(costs));
}

/**
 * The sections of the configuration file `stonegate.dev/v1alpha1` that belong to no feature, as zod schemas,
 * which fill in defaults and refuse unknown keys; durations become milliseconds.
 */
import { z } from 'zod';
import { authenticationSchema } from '../identity/authentication-configuration.ts';
import {
  bind,
  count,
  duration,
  type Output,
  period,
  sentence,
  tenant,
  text,
  toggle,
} from '../lib/schema-fields.ts';
import { file, secretSource } from '../lib/schema-files.ts';
import { TENANCY_FACTS, TENANCY_MODE_NAMES } from '../tenancy/facts.ts';
import { limitsSchema } from './limits-configuration.ts';
import { serverSchema, upstreamSchema } from './server-configuration.ts';

export type * from '../identity/authentication-configuration.ts';
export type * from '../identity/jwt/jwt-configuration.ts';
export type * from '../lib/schema-files.ts';
export type * from './server-configuration.ts';

const tenancy = z
  .strictObject({
    mode: z
      .enum(TENANCY_MODE_NAMES)
      .describe('`arktos`: the API server has tenants, in its paths. `shared`: an ordinary cluster.'),
    systemTenant: tenant
      .default('system')
      .describe('The tenant whose users may act in every other tenant (arktos).'),
    domains: z
      .record(text, tenant)
      .default({})
      .describe('Keystone domain name → tenant, for names that are not DNS labels or are reserved.'),
    discoveryTTL: duration
      .prefault('10s')
      .describe(
        "How long a tenant's discovery documents are cached; after a change of them, for how long they are not.",
      ),
    sharedAPIGroups: z
      .array(text)
      .default([])
      .describe(
        'API groups whose custom resources of scope `Cluster` tenants may use, although all tenants share their objects (arktos).',
      ),
  })
  .describe('How the tenant of a user is determined and sent to the API server.')
  .transform((settings) => ({ ...settings, facts: TENANCY_FACTS[settings.mode] }));

const cache = z
  .strictObject({
    maxEntries: count.default(10_000).describe('Maximum number of identities cached in the process.'),
    redis: z
      .strictObject({
        url: secretSource('redis-url').describe(
          '`redis://`, `rediss://` or `unix://`; a secret, because it may contain a password.',
        ),
        caFile: file('ca').exactOptional().describe("The CA of Redis' certificate."),
        timeout: period
          .prefault('50ms')
          .describe('How long a request waits for Redis before it continues without it.'),
        keyPrefix: text.default('stonegate:').describe('Prefix of all keys of this installation.'),
        sentinels: z
          .array(
            z.strictObject({
              host: text.describe('Name or address.'),
              port: z.int().min(1).max(65_535).default(26_379).describe('Its port.'),
            }),
          )
          .default([])
          .describe('The Sentinels that know the primary.'),
        sentinelName: text.exactOptional().describe('The name of the primary at the Sentinels.'),
        cluster: toggle('Whether the URL is that of a Redis Cluster.'),
      })
      .refine(
        ({ sentinels, sentinelName }) => sentinels.length === 0 || sentinelName !== undefined,
        sentence('is required with sentinels', 'sentinelName'),
      )
      .refine(
        ({ sentinels, sentinelName }) => sentinels.length > 0 || sentinelName === undefined,
        sentence('is required with sentinelName', 'sentinels'),
      )
      .refine(
        ({ sentinels, cluster }) => sentinels.length === 0 || !cluster,
        sentence('expected either sentinels or a cluster, found both', 'cluster'),
      )
      .exactOptional()
      .describe('Shares cached identities between replicas. Without it they are cached in the process only.'),
    sealingKeys: z
      .array(secretSource('sealing-key'))
      .prefault([])
      .describe(
        '32 bytes in base64 each. The first key encrypts, all keys decrypt; to rotate, put a new key first.',
      ),
  })
  .refine(
    ({ redis, sealingKeys }) => redis === undefined || sealingKeys.length > 0,
    sentence(
      'is required with cache.redis: without it, a client that can write to Redis could act as any user',
      'sealingKeys',
    ),
  );

/** The reference lists the sections in this order. */
export const CORE_SECTIONS = {
  server: serverSchema.describe('The listener.'),
  admin: z
    .strictObject({
      bind: bind
        .default('127.0.0.1:9090')
        .describe(
          'HOST:PORT, plain HTTP. In Kubernetes `0.0.0.0:9090`, which the chart sets: probes and Prometheus connect from outside the pod.',
        ),
    })
    .prefault({})
    .describe(
      '`/livez`, `/readyz`, `/healthz`, `/metrics`, `/metrics/usage` and `/version`. It serves no secrets and controls nothing.',
    ),
  upstream: upstreamSchema.describe('The API server.'),
  tenancy,
  authentication: authenticationSchema,
  cache: cache.prefault({}).describe('The cache of validated identities.'),
  limits: limitsSchema
    .prefault({})
    .describe(
      'Limits for clients and tenants. Rates of requests are shared by all processes that use one Redis; all others apply to each process (replica or worker) separately.',
    ),
  audit: z
    .strictObject({
      file: z
        .union([z.literal('-'), file()])
        .prefault('-')
        .describe('`-` is standard output, which costs about ten percent of the throughput of a file.'),
    })
    .prefault({})
    .describe('The audit log, one `audit.k8s.io/v1` Event a line.'),
  log: z
    .strictObject({
      level: z
        .enum(['debug', 'info', 'warn', 'error'])
        .default('info')
        .describe('The lowest level that is logged.'),
    })
    .prefault({})
    .describe("The program's own log, on standard error."),
};

const core = z.strictObject(CORE_SECTIONS);
/** The part of a configuration that does not depend on the features. */
export type CoreConfiguration = Output<typeof core>;

export type TenancyConfiguration = CoreConfiguration['tenancy'];
export type CacheConfiguration = CoreConfiguration['cache'];

/**
 * The configuration file `stonegate.dev/v1alpha1` as a zod schema, which fills in defaults and refuses
 * unknown keys; durations become milliseconds. `config/validate.ts` has the rules between sections.
 * `npm run schema` writes the descriptions to `config/schema/` and `docs/reference/configuration.md`.
 */
import { z } from 'zod';
import { admissionSchema } from '../features/admission/admission-configuration.ts';
import { bindingsSchema } from '../features/bindings/bindings-configuration.ts';
import { authorizationSchema } from '../features/cross-tenant/authorization-configuration.ts';
import { membersSchema } from '../features/members/members-configuration.ts';
import { portalSchema } from '../features/portal/portal-configuration.ts';
import { publishingSchema } from '../features/publishing/publishing-configuration.ts';
import { quotaSchema } from '../features/quota/quota-configuration.ts';
import { rateFields, refuseUnaffordable } from '../features/rates/rates-configuration.ts';
import { accessSchema } from '../features/rbac-index/access-configuration.ts';
import { tokensSchema } from '../features/tokens/tokens-configuration.ts';
import { usageSchema } from '../features/usage/usage-configuration.ts';
import { webhookSchema } from '../features/webhook/webhook-configuration.ts';
import { authenticationSchema } from '../identity/authentication-configuration.ts';
import { isJSONObject } from '../lib/json-object.ts';
import {
  bind,
  count,
  duration,
  type Output,
  period,
  rate,
  sentence,
  tenant,
  text,
  toggle,
} from '../lib/schema-fields.ts';
import { file, secretSource } from '../lib/schema-files.ts';
import { TENANT_QUEUE_BYTES } from '../limits/memory-bounds.ts';
import { serverSchema, upstreamSchema } from './server-configuration.ts';

export type * from '../features/admission/admission-configuration.ts';
export type * from '../features/bindings/bindings-configuration.ts';
export type * from '../features/cross-tenant/authorization-configuration.ts';
export type * from '../features/members/members-configuration.ts';
export type * from '../features/portal/portal-configuration.ts';
export type * from '../features/publishing/publishing-configuration.ts';
export type * from '../features/quota/quota-configuration.ts';
export type * from '../features/rates/rates-configuration.ts';
export type * from '../features/rbac-index/access-configuration.ts';
export type * from '../features/tokens/tokens-configuration.ts';
export type * from '../features/usage/usage-configuration.ts';
export type * from '../features/webhook/webhook-configuration.ts';
export type * from '../identity/authentication-configuration.ts';
export type * from '../identity/jwt/jwt-configuration.ts';
export type * from '../lib/schema-files.ts';
export type * from './server-configuration.ts';

const tenancy = z.strictObject({
  mode: z
    .enum(['arktos', 'shared'])
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
});

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

const limits = z
  .strictObject({
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
    ...rateFields,
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
        endWithCredential: toggle(
          'Whether watches and followed logs end when their credential expires.',
          true,
        ),
        recheck: period
          .prefault('60s')
          .describe('The credential of an open stream is validated again after at least this time.'),
        tunnelMaxAge: period
          .prefault('24h')
          .describe('Maximum duration of exec, attach, port-forward and proxy.'),
      })
      .prefault({})
      .describe('Long-running requests: watch, followed logs, exec, attach, port-forward and proxy.'),
  })
  .superRefine(refuseUnaffordable);

const sections = z.strictObject({
  apiVersion: z.literal('stonegate.dev/v1alpha1'),
  kind: z.literal('StonegateConfiguration'),
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
  tenancy: tenancy.describe('How the tenant of a user is determined and sent to the API server.'),
  authentication: authenticationSchema,
  bindings: bindingsSchema
    .prefault({})
    .describe('How Keystone projects and roles become namespaces and role bindings.'),
  publishing: publishingSchema
    .exactOptional()
    .describe('Objects of the system that are copied to tenants. Off without it.'),
  access: accessSchema
    .prefault({})
    .describe("An index of the cluster's RBAC, and what is answered from it. Off by default."),
  authorization: authorizationSchema
    .prefault({})
    .describe('Who may enter other tenants, and what clients see of refusals.'),
  cache: cache.prefault({}).describe('The cache of validated identities.'),
  limits: limits
    .prefault({})
    .describe(
      'Limits for clients and tenants. Rates of requests are shared by all processes that use one Redis; all others apply to each process (replica or worker) separately.',
    ),
  portal: portalSchema.exactOptional().describe('A sign-in page for browsers. Off without it.'),
  webhook: webhookSchema
    .exactOptional()
    .describe("A webhook for an API server's reviews that replaces k8s-keystone-auth. Off without it."),
  admission: admissionSchema
    .exactOptional()
    .describe('A webhook that refuses what tenants may not create. Off without it.'),
  quota: quotaSchema
    .exactOptional()
    .describe('What each tenant may use of the cluster. Decided in the admission webhook. Off without it.'),
  tokens: tokensSchema
    .exactOptional()
    .describe('Access tokens that users create for themselves, with less than their rights. Off without it.'),
  members: membersSchema
    .exactOptional()
    .describe('What users see and change of who may do what in their namespaces. Off without it.'),
  audit: z
    .strictObject({
      file: z
        .union([z.literal('-'), file()])
        .prefault('-')
        .describe('`-` is standard output, which costs about ten percent of the throughput of a file.'),
    })
    .prefault({})
    .describe('The audit log, one `audit.k8s.io/v1` Event a line.'),
  usage: usageSchema
    .exactOptional()
    .describe('What each tenant and project uses, as records and metrics. Off without it.'),
  log: z
    .strictObject({
      level: z
        .enum(['debug', 'info', 'warn', 'error'])
        .default('info')
        .describe('The lowest level that is logged.'),
    })
    .prefault({})
    .describe("The program's own log, on standard error."),
});

export const configurationSchema = sections.transform(
  ({ apiVersion: _version, kind: _kind, ...configuration }) => configuration,
);

const { apiVersion, kind, admin, log, publishing, quota, admission } = sections.shape;

/**
 * The sections that a process needs which serves only the admission webhook. The sections that it does not
 * use may contain anything. Without `upstream` no rights can be reviewed, and what needs a review is refused.
 */
export const admissionProcessSchema = z
  .unknown()
  .superRefine((document, context) => {
    if (!isJSONObject(document)) return;
    const keys = Object.keys(document).filter((key) => !(key in sections.shape));
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: document });
  })
  .pipe(
    z.object({
      ...{ apiVersion, kind, tenancy, admin, log, publishing, quota },
      admission: admission.unwrap(),
      upstream: upstreamSchema.exactOptional(),
    }),
  )
  .transform(({ apiVersion: _version, kind: _kind, ...configuration }) => configuration);

export type StonegateConfiguration = Output<typeof configurationSchema>;
export type AdmissionProcessConfiguration = Output<typeof admissionProcessSchema>;

export type TenancyConfiguration = StonegateConfiguration['tenancy'];
export type CacheConfiguration = StonegateConfiguration['cache'];

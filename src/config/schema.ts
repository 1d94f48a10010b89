/**
 * The configuration file as a zod schema, which fills in defaults and refuses unknown keys. Rules about
 * several fields are in `validate.ts`. `npm run schema` writes the descriptions to `config/schema/` and
 * `docs/configuration.md`.
 */
import { z } from 'zod';
import { TENANT_QUEUE_BYTES } from '../api/memory-bounds.ts';
import {
  bind,
  cidr,
  duration,
  type FileField,
  fileField,
  period,
  rate,
  secretSource,
  tenant,
  text,
  upstreamCredential,
  url,
} from './fields.ts';
import { accessSchema, authorizationSchema } from './schema-access.ts';
import { admissionSchema } from './schema-admission.ts';
import { authenticationSchema } from './schema-authentication.ts';
import { bindingsSchema } from './schema-bindings.ts';
import { portalSchema } from './schema-portal.ts';
import { publishingSchema } from './schema-publishing.ts';
import { webhookSchema } from './schema-webhook.ts';

const count = z.int().min(1);

function serverSchema(file: FileField) {
  const timeouts = z.strictObject({
    header: period.prefault('10s').describe('For the TLS handshake and the whole request head.'),
    body: period
      .prefault('1m')
      .describe('For the next bytes of a request body while the API server waits for them.'),
    idle: period.prefault('2m').describe('For the next request on an idle connection.'),
    stall: period
      .prefault('5m')
      .describe('For a client to read the next bytes of a response that is waiting for it.'),
  });
  const limits = z.strictObject({
    headerBytes: z
      .int()
      .min(8_192)
      .default(65_536)
      .describe('Maximum size of a request head in bytes; tokens are large.'),
    bodyBytes: count.default(104_857_600).describe('Maximum size of a request body in bytes.'),
  });
  return z.strictObject({
    bind: bind
      .default('0.0.0.0:8443')
      .describe('HOST:PORT for clients; with port 0 the system chooses a free port.'),
    tls: z
      .strictObject({
        certFile: file.describe('The server certificate with its chain, PEM.'),
        keyFile: file.describe('Its private key, PEM, not encrypted.'),
        clientCAFile: file
          .exactOptional()
          .describe('If set, every client must present a certificate of this CA.'),
      })
      .describe('The server certificate. Reloaded if a file changes.'),
    http2: z.boolean().default(true).describe('Whether HTTP/2 is offered in addition to HTTP/1.1.'),
    trustedProxies: z
      .array(cidr)
      .default([])
      .describe('Address ranges of proxies whose `X-Forwarded-For` is trusted.'),
    workers: z
      .union([z.int().min(1).max(256), z.literal('auto')], { error: '"auto" or a number from 1 to 256' })
      .default(1)
      .describe('Number of processes that share the port; `auto` is one per core.'),
    drain: duration
      .prefault('10s')
      .describe('After SIGTERM, how long requests are still accepted while load balancers learn of it.'),
    shutdownGrace: duration
      .prefault('30s')
      .describe('After the drain, how long requests in flight may take.'),
    timeouts: timeouts.prefault({}).describe('Against slow clients.'),
    limits: limits.prefault({}).describe('Against large requests.'),
  });
}

function upstreamSchema(file: FileField) {
  const timeouts = z.strictObject({
    connect: period.prefault('5s').describe('For the connection and its TLS handshake.'),
    response: period
      .prefault('65s')
      .describe(
        'From the last byte of a request to the first byte of its response. The same time is allowed for receiving the whole request body and for waiting for a free connection. It does not apply to long-running requests.',
      ),
  });
  return z.strictObject({
    server: url({ what: "the API server's address, such as https://10.0.0.1:6443", path: /^\/$/ }).describe(
      "The API server's address, without a path.",
    ),
    caFile: file
      .exactOptional()
      .describe(
        "The CA of the API server's certificate; else those that Node trusts (with `NODE_USE_SYSTEM_CA=1`, also the system's).",
      ),
    credential: upstreamCredential(file).describe('The credential with which Stonegate impersonates users.'),
    headerBytes: z
      .int()
      .min(8_192)
      .default(1_048_576)
      .describe("The API server's limit for request headers in bytes; larger identities are refused."),
    timeouts: timeouts.prefault({}).describe('Against a slow API server.'),
  });
}

const tenancySchema = z.strictObject({
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

function cacheSchema(file: FileField) {
  const redis = z.strictObject({
    url: secretSource(file).describe(
      '`redis://`, `rediss://` or `unix://`; a secret, because it may contain a password.',
    ),
    caFile: file.exactOptional().describe("The CA of Redis' certificate."),
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
    cluster: z.boolean().default(false).describe('Whether the URL is that of a Redis Cluster.'),
  });
  return z.strictObject({
    maxEntries: count.default(10_000).describe('Maximum number of identities cached in the process.'),
    redis: redis
      .exactOptional()
      .describe('Shares cached identities between replicas. Without it they are cached in the process only.'),
    sealingKeys: z
      .array(secretSource(file))
      .prefault([])
      .describe(
        '32 bytes in base64 each. The first key encrypts, all keys decrypt; to rotate, put a new key first.',
      ),
  });
}

const limitsSchema = z.strictObject({
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
  perTenant: rate.exactOptional().describe('Rate of requests of one tenant; without it unlimited.'),
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
      endWithCredential: z
        .boolean()
        .default(true)
        .describe('Whether watches and followed logs end when their credential expires.'),
      recheck: period
        .prefault('60s')
        .describe('The credential of an open stream is validated again after at least this time.'),
      tunnelMaxAge: period
        .prefault('24h')
        .describe('Maximum duration of exec, attach, port-forward and proxy.'),
    })
    .prefault({})
    .describe('Long-running requests: watch, followed logs, exec, attach, port-forward and proxy.'),
});

/** @param resolve makes a file name absolute */
export function configurationSchema(resolve: (name: string) => string) {
  const file = fileField(resolve);
  return z.strictObject({
    apiVersion: z.literal('stonegate.dev/v1alpha1'),
    kind: z.literal('StonegateConfiguration'),
    server: serverSchema(file).describe('The listener.'),
    admin: z
      .strictObject({
        bind: bind
          .default('127.0.0.1:9090')
          .describe(
            'HOST:PORT, plain HTTP. In Kubernetes `0.0.0.0:9090`, which the chart sets: probes and Prometheus connect from outside the pod.',
          ),
      })
      .prefault({})
      .describe('`/livez`, `/readyz`, `/healthz` and `/metrics`. It serves no secrets and controls nothing.'),
    upstream: upstreamSchema(file).describe('The API server.'),
    tenancy: tenancySchema.describe('How the tenant of a user is determined and sent to the API server.'),
    authentication: authenticationSchema(file),
    bindings: bindingsSchema(file)
      .prefault({})
      .describe('How Keystone projects and roles become namespaces and role bindings.'),
    publishing: publishingSchema
      .exactOptional()
      .describe('Objects of the system that are copied to tenants. Off without it.'),
    access: accessSchema
      .prefault({})
      .describe("An index of the cluster's RBAC, and what is answered from it. Off by default."),
    authorization: authorizationSchema(file)
      .prefault({})
      .describe('Who may enter other tenants, and what clients see of refusals.'),
    cache: cacheSchema(file).prefault({}).describe('The cache of validated identities.'),
    limits: limitsSchema
      .prefault({})
      .describe('Limits for clients and tenants. They apply to each process (replica or worker) separately.'),
    portal: portalSchema(file).exactOptional().describe('A sign-in page for browsers. Off without it.'),
    webhook: webhookSchema(file)
      .exactOptional()
      .describe("A webhook for an API server's reviews that replaces k8s-keystone-auth. Off without it."),
    admission: admissionSchema(file)
      .exactOptional()
      .describe('A webhook that refuses what tenants may not create. Off without it.'),
    audit: z
      .strictObject({
        file: z
          .union([z.literal('-'), file])
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
  });
}

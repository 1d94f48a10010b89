/**
 * The configuration file as a zod schema: from what an operator writes to `StonegateConfiguration`, with defaults
 * filled in. Unknown keys are errors. What concerns several fields at once is `validate.ts`' business.
 * The descriptions become the JSON Schema in `config/schema/` and the table in `docs/configuration.md`.
 */
import { z } from 'zod';
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
import { authenticationSchema } from './schema-authentication.ts';
import { bindingsSchema } from './schema-bindings.ts';
import { portalSchema } from './schema-portal.ts';
import { webhookSchema } from './schema-webhook.ts';

const count = z.int().min(1);

function serverSchema(file: FileField) {
  const timeouts = z.strictObject({
    header: period.prefault('10s').describe('For the TLS handshake and the whole request head.'),
    body: period
      .prefault('1m')
      .describe('For the next bytes of a request body that the API server is waiting for.'),
    idle: period.prefault('2m').describe('For the next request on a kept connection.'),
    stall: period
      .prefault('5m')
      .describe('For a client to take the next bytes of its answer, where some wait for it.'),
  });
  const limits = z.strictObject({
    headerBytes: z.int().min(8_192).default(65_536).describe('Bytes of a request head; tokens are large.'),
    bodyBytes: count.default(104_857_600).describe('Bytes of a request body.'),
  });
  return z.strictObject({
    bind: bind.default('0.0.0.0:8443').describe('Where clients connect, HOST:PORT; port 0 is chosen freely.'),
    tls: z
      .strictObject({
        certFile: file.describe('The server certificate with its chain, PEM.'),
        keyFile: file.describe('Its private key, PEM, not encrypted.'),
        clientCAFile: file.exactOptional().describe('Client certificates must then be signed by this CA.'),
      })
      .describe('What clients see. Read anew when a file changes.'),
    http2: z.boolean().default(true).describe('Whether HTTP/2 is offered beside HTTP/1.1.'),
    trustedProxies: z.array(cidr).default([]).describe('Ranges whose `X-Forwarded-For` is believed.'),
    workers: z
      .union([z.int().min(1).max(256), z.literal('auto')], { error: '"auto" or a number from 1 to 256' })
      .default(1)
      .describe('Processes on the one port; `auto` is one per core.'),
    shutdownGrace: duration.prefault('30s').describe('How long requests in flight may take after SIGTERM.'),
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
        "From a request's last byte to the response's first; before that for the whole request body, and for a connection to become free where very many ask at once; none for watches and the like.",
      ),
  });
  return z.strictObject({
    server: url({ what: "the API server's address, such as https://10.0.0.1:6443", path: /^\/$/ }).describe(
      "The API server's address, without a path.",
    ),
    caFile: file.exactOptional().describe("The CA of the API server's certificate; else the system's CAs."),
    credential: upstreamCredential(file).describe(
      'What Stonegate itself is known by, and may impersonate with.',
    ),
    headerBytes: z
      .int()
      .min(8_192)
      .default(1_048_576)
      .describe('What the API server takes of request headers; identities beyond it are refused.'),
    timeouts: timeouts.prefault({}).describe('Against a slow API server.'),
  });
}

const tenancySchema = z.strictObject({
  mode: z
    .enum(['arktos', 'shared'])
    .describe('How the API server knows tenants: in its paths, or not at all (an ordinary cluster).'),
  systemTenant: tenant.default('system').describe('The tenant that may act in every other (arktos).'),
  domains: z
    .record(text, tenant)
    .default({})
    .describe('Keystone domain name → tenant, where the name is no DNS label or a reserved one.'),
  discoveryTTL: duration
    .prefault('10s')
    .describe(
      "How long a tenant's discovery documents are kept; after a change of them, for how long they are not.",
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
      '`redis://`, `rediss://` or `unix://`; a secret, since it may hold a password.',
    ),
    caFile: file.exactOptional().describe("The CA of Redis' certificate."),
    timeout: period
      .prefault('50ms')
      .describe('How long a request waits for Redis before it goes on without.'),
    keyPrefix: text.default('stonegate:').describe("What this installation's keys begin with."),
    sentinels: z
      .array(
        z.strictObject({
          host: text.describe('Name or address.'),
          port: z.int().min(1).max(65_535).default(26_379).describe('Its port.'),
        }),
      )
      .default([])
      .describe('The Sentinels to ask for the primary.'),
    sentinelName: text.exactOptional().describe('The name of the primary at the Sentinels.'),
    cluster: z.boolean().default(false).describe('Whether the URL leads to a Redis Cluster.'),
  });
  return z.strictObject({
    maxEntries: count.default(10_000).describe('Identities kept in the process.'),
    redis: redis.exactOptional().describe('Shares identities between replicas; else in-process only.'),
    sealingKeys: z
      .array(secretSource(file))
      .prefault([])
      .describe('32 bytes in base64 each. The first seals, all open: put a new one first to rotate.'),
  });
}

const limitsSchema = z.strictObject({
  unknownCredentials: z
    .strictObject({
      perSource: rate
        .default({ perSecond: 10, burst: 50 })
        .describe('Credentials no cache knows, per client address.'),
      concurrent: count.default(16).describe('Validations under way at once.'),
      queue: z.int().min(0).default(64).describe('How many more may wait.'),
      queueTimeout: duration.prefault('2s').describe('How long they wait.'),
    })
    .prefault({})
    .describe(
      'Stands between a flood of unknown credentials and whoever would be asked: Keystone, the API server. Each source of identities (Keystone, TokenReview, the basic-auth file, the webhook) counts for itself.',
    ),
  perTenant: rate.exactOptional().describe('Requests of one tenant; without it unlimited.'),
  tenantQueue: z
    .strictObject({
      requests: count.default(256).describe('Requests that wait.'),
      bytes: z
        .int()
        .min(1_048_576)
        .default(8_388_608)
        .describe('Bytes that they hold in memory: heads, and bodies as far as they are read ahead.'),
    })
    .prefault({})
    .describe(
      "Requests of one tenant that wait because it has used up its connections to the API server; beyond it they get 429 at once. All tenants' queues together hold 16 times as much.",
    ),
  streams: z
    .strictObject({
      perUser: count.default(500).describe('How many of them one user may have open.'),
      perTenant: count.default(5_000).describe("How many of them a tenant's users may have open together."),
      endWithCredential: z
        .boolean()
        .default(true)
        .describe('Whether watches and followed logs end when their credential expires.'),
      recheck: period
        .prefault('60s')
        .describe("After this time, and not earlier, an open stream's credential is validated again."),
      tunnelMaxAge: period
        .prefault('24h')
        .describe('How long exec, attach, port-forward and proxy may last.'),
    })
    .prefault({})
    .describe('Long-running requests: watch, followed logs, exec, attach, port-forward and proxy.'),
});

/** @param resolve makes a file's name absolute */
export function configurationSchema(resolve: (name: string) => string) {
  const file = fileField(resolve);
  return z.strictObject({
    apiVersion: z.literal('stonegate.dev/v1alpha1'),
    kind: z.literal('StonegateConfiguration'),
    server: serverSchema(file).describe('The listener.'),
    admin: z
      .strictObject({ bind: bind.default('0.0.0.0:9090').describe('HOST:PORT, plain HTTP.') })
      .prefault({})
      .describe('`/livez`, `/readyz`, `/healthz` and `/metrics`: no secrets, no control.'),
    upstream: upstreamSchema(file).describe('The API server.'),
    tenancy: tenancySchema.describe('Which tenant somebody is of, and how the API server is told.'),
    authentication: authenticationSchema(file),
    bindings: bindingsSchema(file)
      .prefault({})
      .describe('From Keystone projects and roles to namespaces and rolebindings.'),
    cache: cacheSchema(file).prefault({}).describe('Remembers whom Keystone vouched for.'),
    limits: limitsSchema
      .prefault({})
      .describe(
        'What one client or tenant may ask for, of each process: replicas and workers count for themselves.',
      ),
    portal: portalSchema(file)
      .exactOptional()
      .describe('A page to sign in at with a browser. Off without it.'),
    webhook: webhookSchema(file)
      .exactOptional()
      .describe("Answers an API server's reviews in place of k8s-keystone-auth. Off without it."),
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
          .describe('What is logged at least.'),
      })
      .prefault({})
      .describe("The program's own log, on standard error."),
  });
}

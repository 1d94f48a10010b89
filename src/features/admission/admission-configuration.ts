/**
 * The section `admission`: the webhook that API servers ask before they store what a tenant creates.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import { z } from 'zod';
import { bind, type Output, rate, tenant, text } from '../../lib/schema-fields.ts';
import { file, serverCertificate } from '../../lib/schema-files.ts';

const KIND = 'a resource as kubectl names it: resourcequotas, ingresses.networking.k8s.io';

const levelAndMode = {
  level: z
    .enum(['privileged', 'baseline', 'restricted'])
    .exactOptional()
    .describe(
      'The level. Default: `baseline` in arktos mode, `privileged` (nothing is refused) in shared mode.',
    ),
  mode: z
    .enum(['enforce', 'warn'])
    .exactOptional()
    .describe('Whether a violation is refused, or allowed with a warning to the client. Default: `enforce`.'),
};

export const admissionSchema = z.strictObject({
  bind: bind.default('0.0.0.0:8446').describe('HOST:PORT of a separate listener.'),
  tls: z
    .strictObject({
      ...serverCertificate,
      clientCAFile: file('ca')
        .exactOptional()
        .describe(
          'If set, API servers must present a certificate of this CA. Most present none to an admission webhook.',
        ),
    })
    .describe('The server certificate. Reloaded if a file changes.'),
  systemKinds: z
    .array(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, { error: KIND }))
    .default([])
    .describe('Kinds that tenants cannot create, besides nodes and DaemonSets: `resource.group`.'),
  nodeLabels: z
    .array(text)
    .default([])
    .describe(
      'Labels of nodes that pods of tenants may select by, besides `kubernetes.io/os` and `kubernetes.io/arch`.',
    ),
  podSecurity: z
    .strictObject({
      ...levelAndMode,
      version: z
        .string()
        .regex(/^v1\.(0|[1-9][0-9]?)$/, { error: 'a version such as v1.36' })
        .exactOptional()
        .describe(
          "The version of the standards, not newer than the API server's. Default: `v1.15` in arktos mode; required in shared mode.",
        ),
      tenants: z
        .record(tenant, z.strictObject(levelAndMode))
        .default({})
        .describe('Tenant → what differs for its pods.'),
    })
    .prefault({})
    .describe('The Pod Security Standard that pods of tenants must comply with.'),
  systemUsers: z
    .array(text)
    .default(['stonegate', 'stonegate-provisioner'])
    .describe("Names of users and service accounts of the cluster that would be a tenant's by their name."),
  systemNamespaces: z
    .array(tenant)
    .default([])
    .describe(
      'Namespaces whose service accounts belong to no tenant, besides `kube-*`, `stonegate` and `stonegate-*` (shared).',
    ),
  limits: z
    .strictObject({
      perSource: rate
        .default({ perSecond: 1_000, burst: 2_000 })
        .describe('Rate of reviews, per client address. Each 4 KiB of a body counts as one more.'),
      concurrent: z
        .int()
        .min(1)
        .max(1_024)
        .default(64)
        .describe('Reviews at the same time per client address; eight times as many in all.'),
    })
    .prefault({})
    .describe(
      'Protects the listener, which clients reach without a certificate. They apply to each process.',
    ),
});

export type AdmissionConfiguration = Output<typeof admissionSchema>;
export type PodSecurityConfiguration = Omit<AdmissionConfiguration['podSecurity'], 'tenants'>;

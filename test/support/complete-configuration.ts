/** A configuration with every section, in which every component exists and every resource is served. */
import { rootCertificates } from 'node:tls';
import { parse } from 'yaml';
import { defaultConfiguration, type StonegateConfiguration } from '../../src/app/configuration.ts';
import type { ServingProcess } from '../../src/app/serving.ts';
import { createPortalState } from '../../src/features/portal/build.ts';
import type { Runtime } from '../../src/lib/runtime.ts';
import { ResponseMemory } from '../../src/limits/response-memory.ts';
import { StreamRegistry } from '../../src/proxy/streams/stream-registry.ts';

const SECTIONS: Record<string, object> = parse(`
  authentication:
    keystone:
      url: https://keystone.example.com/v3
      caFile: ca.crt
      serviceCredential: {applicationCredential: {id: a, secret: {fromFile: secret}}}
      roleAssignments: {}
    jwt:
      - issuer: {url: https://issuer.example.com, audiences: [kubernetes], caFile: ca.crt}
        claimMappings: {username: {claim: email, prefix: 'corp:'}}
        tenant: {value: acme}
        login: {name: corp, displayName: Corp, clientID: kubernetes}
    tokenReview: {tenant: acme}
  access: {index: true, authorizers: [Node, RBAC]}
  cache: {redis: {url: {fromFile: redis}}, sealingKeys: [{fromFile: key}]}
  limits: {perTenant: {perSecond: 10, burst: 100}}
  portal:
    bind: 0.0.0.0:8443
    tls: {certFile: tls.crt, keyFile: tls.key}
    publicURL: https://login.example.com
    kubernetes: {name: demo, server: https://kubernetes.example.com, caFile: ca.crt}
    oidc: [{name: corp, clientSecret: {fromFile: secret}}]
  admission: {bind: 0.0.0.0:8445, tls: {certFile: tls.crt, keyFile: tls.key}}
  quota: {default: {pods: '1'}, keystoneLimits: {service: kubernetes, resources: {pods: pods}}}
  tokens: {}
  members: {}
  traces:
    endpoint: https://collector.example.com/v1/traces
    caFile: ca.crt
    headers: {Authorization: {fromFile: secret}}
  usage: {}`);

const WEBHOOK: object = parse(`
  bind: 0.0.0.0:8444
  tls: {certFile: tls.crt, keyFile: tls.key, clientCAFile: ca.crt}
  policy: {configMap: {name: policy}}`);
const BINDINGS = { credential: { tokenFile: 'provisioner' } };

/** What exists in one mode only, or not beside something else. */
const SECTIONS_OF = {
  arktos: {
    authorization: {
      abacPolicyFile: 'policies',
      crossTenantPolicies: true,
      tenantAdministrations: true,
      administrations: [],
    },
    bindings: { ...BINDINGS, provision: 'onRequest' },
    publishing: {
      namespaces: ['shared'],
      clusterScoped: [{ resource: 'clusterroles', names: 'shared-*' }],
    },
    webhook: { ...WEBHOOK, sync: { configMap: { name: 'sync' } } },
  },
  shared: {
    bindings: { ...BINDINGS, provision: 'periodic' },
    publishing: { namespaces: ['shared'] },
    webhook: { ...WEBHOOK, usernames: 'legacy', sync: { file: 'sync' } },
  },
};

const KEY = Buffer.alloc(32, 1).toString('base64');
const FILES: Readonly<Record<string, Buffer>> = {
  'ca.crt': Buffer.from(rootCertificates[0] ?? ''),
  sync: Buffer.from('data-types-to-sync: [projects]'),
};
const SECRETS: Readonly<Record<string, string>> = { redis: 'redis://127.0.0.1:1', key: KEY };

export function completeConfiguration(mode: 'arktos' | 'shared') {
  return defaultConfiguration({ ...SECTIONS, ...SECTIONS_OF[mode], tenancy: { mode } });
}

export function contentOf(file: string): Buffer {
  return FILES[file] ?? Buffer.from('content');
}

export function secretOf(file: string): string {
  return SECRETS[file] ?? 'secret';
}

/** A process that serves it, and observes nothing. */
export function servingProcess(runtime: Runtime, { limits }: StonegateConfiguration): ServingProcess {
  const observer = { requestReceived() {}, responseStarted() {}, responseComplete() {} };
  return {
    observer,
    startedAt: 0,
    streams: new StreamRegistry({ ...runtime, limits: limits.streams }),
    responseMemory: new ResponseMemory(),
    portal: createPortalState(runtime, observer),
    hasWebhook: true,
    inForce: () => {
      throw new Error('nothing is in force');
    },
    memberships: () => {},
    keep: false,
  };
}

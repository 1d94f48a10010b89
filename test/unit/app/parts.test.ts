/**
 * A component is reused over a reload if what it is built from stays the same. This records what components
 * read of a configuration with everything in it, and compares it with what decides about their reuse.
 */
import { rootCertificates } from 'node:tls';
import t from 'tap';
import { defaultConfiguration, type StonegateConfiguration } from '../../../src/app/configuration.ts';
import { createServing } from '../../../src/app/serving.ts';
import { commandRuntime } from '../../../src/config/build.ts';
import { type GenerationBuilder, Generations } from '../../../src/config/generation.ts';
import { createPortalState } from '../../../src/features/portal/build.ts';
import { ResponseMemory } from '../../../src/limits/response-memory.ts';
import { StreamRegistry } from '../../../src/proxy/streams/stream-registry.ts';

const SECTIONS = {
  authentication: {
    keystone: {
      url: 'https://keystone.example.com/v3',
      caFile: 'ca.crt',
      serviceCredential: {
        applicationCredential: { id: 'a', secret: { fromFile: 'secret' } },
      },
      roleAssignments: {},
    },
    jwt: [
      {
        issuer: { url: 'https://issuer.example.com', audiences: ['kubernetes'], caFile: 'ca.crt' },
        claimMappings: { username: { claim: 'email', prefix: 'corp:' } },
        tenant: { value: 'acme' },
        login: { name: 'corp', displayName: 'Corp', clientID: 'kubernetes' },
      },
    ],
    tokenReview: { tenant: 'acme' },
  },
  bindings: { credential: { tokenFile: 'provisioner' }, provision: 'onRequest' },
  publishing: { namespaces: ['shared'] },
  access: { index: true, authorizers: ['Node', 'RBAC'] },
  cache: { redis: { url: { fromFile: 'redis' } }, sealingKeys: [{ fromFile: 'key' }] },
  limits: { perTenant: { perSecond: 10, burst: 100 } },
  portal: {
    bind: '0.0.0.0:8443',
    tls: { certFile: 'tls.crt', keyFile: 'tls.key' },
    publicURL: 'https://login.example.com',
    kubernetes: { name: 'demo', server: 'https://kubernetes.example.com', caFile: 'ca.crt' },
    oidc: [{ name: 'corp', clientSecret: { fromFile: 'secret' } }],
  },
  webhook: {
    bind: '0.0.0.0:8444',
    tls: { certFile: 'tls.crt', keyFile: 'tls.key', clientCAFile: 'ca.crt' },
    policy: { configMap: { namespace: 'kube-system', name: 'policy' } },
  },
  admission: { bind: '0.0.0.0:8445', tls: { certFile: 'tls.crt', keyFile: 'tls.key' } },
  quota: { default: { pods: '1' }, keystoneLimits: { service: 'kubernetes', resources: { pods: 'pods' } } },
  tokens: {},
  members: {},
};

const KEY = Buffer.alloc(32, 1).toString('base64');
const SECRETS: Readonly<Record<string, string>> = { redis: 'redis://127.0.0.1:1', key: KEY };

/** The object with a record of each read of a value in it. */
function recorded<T extends object>(object: T, path: string, seen: (path: string) => void): T {
  return new Proxy(object, {
    get(target, key, receiver) {
      const value: unknown = Reflect.get(target, key, receiver);
      if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return value;
      const below = `${path}.${key}`;
      if (typeof value === 'object' && value !== null) return recorded(value, below, seen);
      seen(below);
      return value;
    },
  });
}

for (const mode of ['arktos', 'shared'] as const)
  t.test(`each component reads only what decides about its reuse (${mode})`, async (t) => {
    const policies = { crossTenantPolicies: true, administrations: [] };
    const configuration: StonegateConfiguration = defaultConfiguration({
      ...SECTIONS,
      tenancy: { mode },
      ...(mode === 'arktos' && { authorization: policies }),
    });
    let reads = new Set<string>();
    const during = (work: () => void): ReadonlySet<string> => {
      const before = reads;
      reads = new Set();
      work();
      const found = reads;
      reads = before;
      return found;
    };
    const built: string[] = [];
    const stray: string[] = [];
    const recording = (generation: GenerationBuilder): GenerationBuilder => ({
      inFlight: generation.inFlight,
      component(type, options) {
        const decides = during(() => JSON.stringify(options.fingerprint));
        built.push(type.name);
        return generation.component(type, {
          ...options,
          create(previous) {
            const created: ReturnType<typeof options.create>[] = [];
            const used = during(() => created.push(options.create(previous)));
            if (options.fingerprint !== undefined)
              stray.push(
                ...[...used].filter((path) => !decides.has(path)).map((path) => `${type.name}: ${path}`),
              );
            const [component] = created;
            if (component === undefined) throw new TypeError('nothing was created');
            return component;
          },
        });
      },
    });
    const runtime = commandRuntime();
    const generations = new Generations(runtime.logger);
    t.teardown(() => generations.close());
    const pem = Buffer.from(rootCertificates[0] ?? '');
    const loaded = {
      configuration: recorded(configuration, 'configuration', (path) => reads.add(path)),
      references: [],
      file: (name: string) => (name === 'ca.crt' ? pem : Buffer.from('content')),
      secret: (source: object) => SECRETS['fromFile' in source ? String(source.fromFile) : ''] ?? 'secret',
      digest: '',
      identityDigest: '',
    };
    const observer = { requestReceived() {}, responseStarted() {}, responseComplete() {} };
    generations.replace((generation) =>
      createServing(
        { loaded, runtime, generation: recording(generation) },
        {
          observer,
          startedAt: 0,
          streams: new StreamRegistry({ ...runtime, limits: configuration.limits.streams }),
          responseMemory: new ResponseMemory(),
          portal: createPortalState(runtime, observer),
          hasWebhook: true,
          inForce: () => {
            throw new Error('nothing is in force');
          },
          memberships: () => {},
          keep: false,
        },
      ),
    );
    t.ok(built.length > 40, `${built.length} components`);
    t.same(stray, []);
  });

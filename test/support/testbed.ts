/**
 * Everything around Stonegate, on loopback: a multi-tenant API server, a Keystone, an OIDC provider, two
 * tenants with users and objects, and a configuration of Stonegate for it. Tests start Stonegate in their own
 * process, the demo as a user would.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Test } from 'tap';
import { stringify } from 'yaml';
import { rbacManifests } from '../../src/app/commands/rbac-manifests.ts';
import { defaultConfiguration } from '../../src/app/configuration.ts';
import { CREDENTIAL_ID_KEY } from '../../src/kubernetes/reserved-names.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { type ApiServer, createApiServer, type LoggedRequest } from './apiserver/api-server.ts';
import type { PodLog } from './apiserver/pods.ts';
import type { Seed, Subject } from './apiserver/seed.ts';
import { createKeystoneStandIn, type KeystoneStandIn } from './keystone/standin.ts';
import { manifestsIn, seedManifests } from './manifests.ts';
import { type OidcProvider, startOidcProvider } from './oidc/provider.ts';
import { rule } from './policy-rule.ts';
import { createAuthority } from './tls/authority.ts';

export type Mode = 'arktos' | 'shared';

export interface TestbedOptions {
  /** The folder for certificates and the configuration. */
  readonly folder: string;
  readonly mode?: Mode;
  /** Merged over the configuration, member by member. */
  readonly configuration?: Record<string, object>;
  /** Merged over `authentication.keystone`. */
  readonly keystoneConfiguration?: object;
  /** Stonegate's portal on a free port; by default there is none. */
  readonly portal?: { readonly port: number };
  /** The lifetime of tokens in seconds; by default an hour. */
  readonly tokenLife?: number;
  /** The API server's version; by default that of the recordings. */
  readonly gitVersion?: string;
  /** The clock with which the API server limits how often it calls webhooks, as Arktos does. */
  readonly apiServerClock?: Clock;
  /** Called with each request that reaches the API server. */
  readonly onRequest?: (request: LoggedRequest) => void;
}

export type Testbed = Awaited<ReturnType<typeof createTestbed>>;

const DOMAINS = { alice: 'acme', bob: 'globex' } as const;
/** Stonegate's own credential at the API server. */
export const OWN_TOKEN = 'stonegate-own-token';
/** The portal as a client of the provider. */
const PORTAL_CLIENT = { name: 'acme', clientID: 'portal', clientSecret: 'portal-client-secret' };

/** A testbed that ends with the test; by default in the test's folder. */
export async function startTestbed(
  t: Pick<Test, 'testdir' | 'teardown'>,
  options: Partial<TestbedOptions> = {},
) {
  const testbed = await createTestbed({ ...options, folder: options.folder ?? t.testdir() });
  t.teardown(() => testbed.close());
  return testbed;
}

export async function createTestbed(options: TestbedOptions) {
  const {
    folder,
    mode = 'arktos',
    tokenLife = 3_600,
    portal,
    gitVersion,
    apiServerClock,
    onRequest,
  } = options;
  await mkdir(folder, { recursive: true });
  const authority = await createAuthority('Stonegate demo CA');
  const apiServer = await createApiServer({
    flavour: mode === 'arktos' ? 'arktos' : 'kubernetes',
    tls: { ...(await authority.server('kube-apiserver')), clientCA: authority.cert },
    tokens: { [OWN_TOKEN]: { username: 'stonegate' } },
    gitVersion,
    clock: apiServerClock,
    ...(onRequest && { onRequest }),
  });
  const keystone = await createKeystoneStandIn({ tls: await authority.server('keystone') });
  const provider = await startOidcProvider({
    idTokenLife: tokenLife,
    ...(portal && {
      sites: [
        {
          ...PORTAL_CLIENT,
          redirectURI: `https://localhost:${portal.port}/login/callback/${PORTAL_CLIENT.name}`,
        },
      ],
    }),
    users: {
      carol: {
        password: 'carol-pass',
        claims: {
          email: 'carol@acme.example',
          email_verified: true,
          hd: 'acme.example',
          groups: ['developers'],
        },
      },
    },
  });
  admitStonegate(apiServer.seed, mode, 'tokenReview' in { ...options.configuration?.authentication });
  seedKeystone(keystone);
  const log = mode === 'arktos' ? seedTenants(apiServer.seed) : seedNamespaces(apiServer.seed);
  const configFile = join(folder, 'stonegate.yaml');
  const served = await authority.server('stonegate');
  const own = await authority.client('stonegate', mode === 'arktos' ? ['tenant:system'] : []);
  const files = {
    'ca.crt': authority.cert,
    'tls.crt': served.cert,
    'tls.key': served.key,
    'apiserver-token': OWN_TOKEN,
    'apiserver.crt': own.cert,
    'apiserver.key': own.key,
    'cache.key': randomBytes(32).toString('base64'),
    'portal-client-secret': PORTAL_CLIENT.clientSecret,
    'clouds.yaml': cloudsOf(keystone, join(folder, 'ca.crt')),
  };
  for (const [name, content] of Object.entries(files))
    await writeFile(join(folder, name), content, { mode: 0o600 });
  const configure = async (changes: Record<string, object>) => {
    const base: Record<string, object> = {
      ...configurationOf(apiServer, keystone, provider, options),
      ...(portal && { portal: portalOf(portal.port) }),
    };
    const merged = Object.fromEntries(
      Object.entries({ ...base, ...changes }).map(([key, value]) => [key, { ...base[key], ...value }]),
    );
    const head = { apiVersion: 'stonegate.dev/v1alpha1', kind: 'StonegateConfiguration' };
    await writeFile(configFile, stringify({ ...head, ...merged }));
  };
  await configure(options.configuration ?? {});

  return {
    authority,
    apiServer,
    keystone,
    provider,
    configFile,
    /** The log of the pod `web` in acme's namespace `default`. */
    log,
    /** Replaces the configuration, with these members merged over it. */
    configure,
    /** A new token of `alice` (acme) or `bob` (globex), scoped to their project. */
    keystoneToken(name: 'alice' | 'bob') {
      const user = keystone.directory.user(DOMAINS[name], name);
      const project = keystone.directory.project(DOMAINS[name], 'web');
      return keystone.issue(user, { project }, { life: tokenLife * 1_000 });
    },
    async close() {
      await Promise.all([apiServer.close(), keystone.close(), provider.close()]);
    },
  };
}

/** A `clouds.yaml` with a cloud for each user, named for the user's domain. */
function cloudsOf({ url, directory }: KeystoneStandIn, cacert: string) {
  const clouds = Object.entries(DOMAINS).map(([name, domain]) => {
    const { password } = directory.user(domain, name);
    const who = { username: name, user_domain_name: domain, password };
    const auth = { auth_url: url, ...who, project_name: 'web', project_domain_name: domain };
    return [domain, { auth, cacert: resolve(cacert) }];
  });
  return stringify({ clouds: Object.fromEntries(clouds) });
}

function configurationOf(
  apiServer: ApiServer,
  keystone: KeystoneStandIn,
  provider: OidcProvider,
  { mode = 'arktos', keystoneConfiguration = {} }: TestbedOptions,
): Record<string, object> {
  // The timeouts suit a busy machine. A test of a timeout sets a shorter one.
  return {
    server: {
      bind: '127.0.0.1:0',
      drain: '0s',
      tls: { certFile: 'tls.crt', keyFile: 'tls.key' },
      timeouts: { header: '60s' },
    },
    admin: { bind: '127.0.0.1:0' },
    upstream: {
      server: apiServer.url,
      caFile: 'ca.crt',
      credential: { tokenFile: 'apiserver-token' },
      timeouts: { connect: '60s' },
    },
    tenancy: { mode },
    authentication: {
      keystone: { url: keystone.url, caFile: 'ca.crt', timeout: '60s', ...keystoneConfiguration },
      jwt: [
        {
          issuer: { url: provider.issuer, audiences: [provider.clientID, PORTAL_CLIENT.clientID] },
          claimMappings: {
            username: { claim: 'email', prefix: 'oidc:' },
            groups: { claim: 'groups', prefix: 'oidc:' },
          },
          tenant: { claim: 'hd', map: { 'acme.example': 'acme' } },
          login: { name: PORTAL_CLIENT.name, displayName: 'Acme', clientID: provider.clientID },
        },
      ],
    },
    audit: { file: 'audit.log' },
  };
}

/** The portal has another host name than the API, which users reach at 127.0.0.1. */
function portalOf(port: number): object {
  return {
    bind: `127.0.0.1:${port}`,
    publicURL: `https://localhost:${port}`,
    tls: { certFile: 'tls.crt', keyFile: 'tls.key' },
    kubernetes: { name: 'demo', server: 'https://127.0.0.1:8443', caFile: 'ca.crt' },
    oidc: [
      {
        name: PORTAL_CLIENT.name,
        clientID: PORTAL_CLIENT.clientID,
        clientSecret: { fromFile: 'portal-client-secret' },
      },
    ],
  };
}

/** Gives Stonegate only what `stonegate manifests rbac` prints. */
function admitStonegate(seed: Seed, mode: Mode, tokenReview: boolean) {
  const keystone = { url: 'https://keystone.example.com/v3' };
  const configuration = defaultConfiguration({
    tenancy: { mode },
    authentication: { keystone, ...(tokenReview && { tokenReview: { tenant: 'system' } }) },
    access: { index: true },
  });
  const manifests = rbacManifests(
    configuration,
    { kind: 'User', name: 'stonegate' },
    { suffix: '', extraKeys: [CREDENTIAL_ID_KEY] },
  );
  seedManifests(seed, manifestsIn(manifests));
}

function seedKeystone({ directory }: KeystoneStandIn) {
  for (const [name, domain] of Object.entries(DOMAINS))
    directory.assign(directory.user(domain, name), 'member', { project: directory.project(domain, 'web') });
}

const WORK = [rule('*', '*', '*')];

/** Creates objects of the same names in both tenants, so that only the tenant distinguishes them. */
function seedTenants(seed: Seed): PodLog {
  const subjects: Record<string, Subject[]> = {
    acme: ['user:acme:alice', 'group:oidc:developers'],
    globex: ['user:globex:bob'],
  };
  for (const [tenant, members] of Object.entries(subjects)) {
    seed.tenant(tenant);
    seed.clusterRole('worker', WORK, { tenant });
    seed.clusterRoleBinding('workers', 'worker', members, { tenant });
    seed.configMap('settings', { owner: tenant }, { tenant });
  }
  seed.pod('web', { tenant: 'globex' });
  return seed.pod('web', { tenant: 'acme' });
}

/** Creates a namespace for each tenant with bindings, as an operator of an ordinary cluster would. */
function seedNamespaces(seed: Seed): PodLog {
  seed.clusterRole('worker', WORK);
  for (const tenant of Object.values(DOMAINS)) {
    seed.namespace(tenant);
    seed.roleBinding('workers', 'worker', [`group:stonegate:tenant:${tenant}`], { namespace: tenant });
    seed.configMap('settings', { owner: tenant }, { namespace: tenant });
  }
  seed.pod('web', { namespace: 'globex' });
  return seed.pod('web', { namespace: 'acme' });
}

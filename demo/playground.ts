/**
 * The demo's environment on loopback: stand-ins for the API server and Keystone and a real OIDC provider in
 * this process, Stonegate in its own process, users with tokens, and a folder with configuration and logs.
 */
import { createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TENANT_KEY } from '../src/kubernetes/reserved-names.ts';
import { makeFolder } from '../src/lib/make-folder.ts';
import { TENANCY_FACTS, type TenancyFacts } from '../src/tenancy/facts.ts';
import type { LoggedRequest } from '../test/support/apiserver/api-server.ts';
import type { PodLog } from '../test/support/apiserver/pods.ts';
import type { Place, Seed, Subject } from '../test/support/apiserver/seed.ts';
import { freePort } from '../test/support/free-port.ts';
import type { KeystoneStandIn } from '../test/support/keystone/standin.ts';
import { contextsOf } from '../test/support/kubeconfig.ts';
import { printedManifests, seedManifests } from '../test/support/manifests.ts';
import { createTestbed, type Mode, type Testbed } from '../test/support/testbed.ts';
import { quotaConfiguration, seedQuota } from './seed-quota.ts';
import { startStonegateProcess } from './stonegate-process.ts';

export interface PlaygroundOptions {
  readonly folder: string;
  readonly mode: Mode;
  /** Preferred ports; otherwise any free ones. */
  readonly ports?: { readonly stonegate: number; readonly admin: number; readonly portal: number };
}

export interface Playground {
  readonly folder: string;
  readonly mode: Mode;
  readonly testbed: Testbed;
  /** `https://127.0.0.1:port` of Stonegate. */
  readonly url: string;
  /** `http://127.0.0.1:port` of its admin listener. */
  readonly admin: string;
  /** `https://localhost:port` of its portal. */
  readonly portal: string;
  /** Context of the kubeconfig → the token it sends. */
  readonly tokens: Readonly<Record<string, string>>;
  /** Settles when Stonegate has ended, with the reason. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

/** Seconds; a working day. */
const TOKEN_LIFE = 12 * 3_600;
/** As of a release: kubectl cannot read the version of an Arktos that was built without one. */
const VERSIONS = { arktos: 'v0.9.0', shared: 'v1.36.0' } as const;
/** The file of dave's token, for `stonegate explain`. */
const TOKEN_FILE = 'dave.token';

/** @throws Error if Stonegate does not become ready; everything is closed then */
export async function openPlayground({ folder, mode, ports }: PlaygroundOptions): Promise<Playground> {
  const facts = TENANCY_FACTS[mode];
  await makeFolder(folder);
  await rm(join(folder, 'audit.log'), { force: true });
  const stonegate = await freePort(ports?.stonegate);
  const adminPort = await freePort(ports?.admin);
  const portalPort = await freePort(ports?.portal);
  const admissionPort = await freePort();
  const requestLog = createWriteStream(join(folder, 'apiserver.log'), { mode: 0o600 });
  const testbed = await createTestbed({
    folder,
    mode,
    tokenLife: TOKEN_LIFE,
    gitVersion: VERSIONS[mode],
    portal: { port: portalPort },
    keystoneConfiguration: LOOK_UPS,
    configuration: {
      access: { index: true, authorizers: ['Node', 'RBAC'] },
      members: {},
      tokens: {},
      server: { bind: `127.0.0.1:${stonegate}`, drain: '0s', shutdownGrace: '3s' },
      admin: { bind: `127.0.0.1:${adminPort}` },
      ...quotaConfiguration(admissionPort),
    },
    onRequest: (request) => requestLog.write(logLine(request, new Date())),
  });
  const { seed } = testbed.apiServer;
  const stopTalking = keepTalking([testbed.log, ...seedTenants(seed, facts)]);
  seedReader(seed, facts);
  if (!facts.hasTenantsInPaths) seedClusterRights(seed);
  const closeTestbed = async (): Promise<void> => {
    stopTalking();
    await testbed.close();
    requestLog.end();
  };

  try {
    await writeFile(join(folder, 'service-password'), seedService(testbed.keystone), { mode: 0o600 });
    const roles = await printedManifests('roles', '--mode', mode);
    for (const tenant of facts.hasTenantsInPaths ? Object.keys(TENANTS) : [''])
      seedManifests(seed, roles, {}, { tenant });
    await seedQuota(testbed, mode, admissionPort, ACME_PODS);
    const url = `https://127.0.0.1:${stonegate}`;
    const admin = `http://127.0.0.1:${adminPort}`;
    const tokens = {
      'acme-alice': testbed.keystoneToken('alice'),
      'acme-dave': tokenOfDave(testbed.keystone),
      'globex-bob': testbed.keystoneToken('bob'),
      'acme-carol': await testbed.provider.idToken('carol'),
    };
    const kubeconfig = contextsOf({ url, ca: testbed.authority.cert }, tokens, (context) =>
      facts.hasTenantsInPaths ? 'default' : context.replace(/-.*/, ''),
    );
    await writeFile(join(folder, 'kubeconfig'), kubeconfig, { mode: 0o600 });
    await writeFile(join(folder, TOKEN_FILE), tokens['acme-dave'], { mode: 0o600 });
    const { configFile } = testbed;
    const child = await startStonegateProcess({ configFile, logFile: join(folder, 'stonegate.log'), admin });
    return {
      folder,
      mode,
      testbed,
      url,
      admin,
      portal: `https://localhost:${portalPort}`,
      tokens,
      ended: child.ended,
      async close() {
        await child.stop();
        await closeTestbed();
      },
    };
  } catch (error) {
    await closeTestbed();
    throw error;
  }
}

/** Owners of access tokens are looked up in Keystone. */
const LOOK_UPS = {
  serviceCredential: {
    password: {
      userName: 'stonegate',
      userDomainName: 'Default',
      password: { fromFile: 'service-password' },
      scope: { system: true },
    },
  },
  roleAssignments: {},
};

/** @returns the password of the user as whom Stonegate asks Keystone */
function seedService({ directory }: KeystoneStandIn): string {
  const service = directory.user('Default', 'stonegate');
  for (const role of ['reader', 'service']) directory.assign(service, role, { system: true });
  return service.password;
}

/** A user of acme with few rights. At the portal, dave and alice can switch between two projects. */
function tokenOfDave({ directory, issue }: KeystoneStandIn): string {
  const project = directory.project('acme', 'web');
  const dave = directory.user('acme', 'dave');
  directory.assign(dave, 'reader', { project });
  for (const name of ['alice', 'dave'])
    directory.assign(directory.user('acme', name), 'reader', { project: directory.project('acme', 'batch') });
  return issue(dave, { project }, { life: TOKEN_LIFE * 1_000 });
}

/** Objects in addition to those of every testbed: as far as possible the same names in both tenants. */
const TENANTS: Readonly<Record<string, DemoTenant>> = {
  acme: {
    namespaces: ['shop', 'staging'],
    greeting: 'hello from acme',
    replicas: 2,
    workers: ['user:acme:alice', 'group:oidc:developers'],
  },
  globex: {
    namespaces: ['laboratory'],
    greeting: 'hello from globex',
    replicas: 3,
    workers: ['user:globex:bob'],
  },
};

interface DemoTenant {
  readonly namespaces: readonly string[];
  readonly greeting: string;
  readonly replicas: number;
  /** Those who may do everything in it. */
  readonly workers: readonly Subject[];
}

/**
 * A place in a tenant.
 *
 * @param namespace by default the first one: on Arktos each tenant has a `default`, in an ordinary cluster it
 *   is named after the tenant
 */
function placeIn({ hasTenantsInPaths }: TenancyFacts, tenant: string, namespace?: string): Place {
  return hasTenantsInPaths ? { tenant, ...(namespace && { namespace }) } : { namespace: namespace ?? tenant };
}
/** As many as acme has: a further one exceeds its quota. */
const ACME_PODS = 4;
/** What dave may read, and where. */
const READER = {
  namespaces: ['shop', 'staging'],
  rules: [
    { verbs: ['get'], apiGroups: [''], resources: ['namespaces'] },
    { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods', 'pods/log', 'configmaps'] },
  ],
};

function seedReader(seed: Seed, facts: TenancyFacts): void {
  seed.clusterRole('reader', READER.rules, facts.hasTenantsInPaths ? { tenant: 'acme' } : {});
  for (const namespace of READER.namespaces) {
    const place = placeIn(facts, 'acme', namespace);
    seed.roleBinding('readers', 'reader', ['user:acme:dave'], place);
    seed.pod('till', place);
  }
}

/** @returns the log of a second pod in each tenant */
function seedTenants(seed: Seed, facts: TenancyFacts): PodLog[] {
  return Object.entries(TENANTS).map(([tenant, { namespaces, greeting, replicas, workers }]) => {
    const place = placeIn(facts, tenant);
    if (facts.labelsNamespaces) seedNamespaces(seed, tenant, workers, [tenant, ...namespaces]);
    else for (const namespace of namespaces) seed.namespace(namespace, { tenant });
    seed.configMap('greeting', { text: greeting }, place);
    seed.configMap('prices', { bread: '3.20' }, placeIn(facts, tenant, namespaces[0]));
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'nginx' }] } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    seed.object('apps/v1/deployments', 'web', { spec }, place);
    return seed.pod('worker', place);
  });
}

/** Namespaces of an ordinary cluster. The label says whose quota they are charged to. */
function seedNamespaces(
  seed: Seed,
  tenant: string,
  workers: readonly Subject[],
  namespaces: readonly string[],
): void {
  for (const namespace of namespaces) {
    seed.object('v1/namespaces', namespace, { metadata: { labels: { [TENANT_KEY]: tenant } } });
    seed.roleBinding('workers', 'worker', workers, { namespace });
  }
}

/**
 * alice may act as acme's user `reader`, and create teams. On Arktos her rights in the whole tenant include
 * that.
 */
function seedClusterRights(seed: Seed): void {
  seed.clusterRole('acme-administrator', [
    { verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['acme:reader'] },
    { verbs: ['*'], apiGroups: ['stonegate.dev'], resources: ['teams'] },
  ]);
  seed.clusterRoleBinding('acme-administrators', 'acme-administrator', ['user:acme:alice']);
}

/**
 * Makes pods write log lines, so that `kubectl logs -f` has something to follow.
 *
 * @returns stops them
 */
function keepTalking(logs: readonly PodLog[]): () => void {
  let served = 0;
  const timer = setInterval(() => {
    served += 1;
    for (const log of logs) log.append(`${new Date().toISOString()} served request ${served}`);
  }, 2_000);
  return () => clearInterval(timer);
}

/** Describes a request at the API server: the rewritten path and the impersonated user. */
export function describeRequest({ method, url, headers }: LoggedRequest): string {
  const user = headers['impersonate-user'];
  return `${method} ${url} as ${typeof user === 'string' ? user : 'Stonegate itself'}`;
}

/** A log line, with the groups. */
function logLine(request: LoggedRequest, now: Date): string {
  const groups = request.headers['impersonate-group'];
  const list = groups === undefined ? '' : ` groups ${[groups].flat().join(', ')}`;
  return `${now.toISOString()} ${describeRequest(request)}${list}\n`;
}

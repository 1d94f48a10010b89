/**
 * The demo's environment on loopback: stand-ins for the API server and Keystone and a real OIDC provider in
 * this process, Stonegate in its own process, users with tokens, and a folder with configuration and logs.
 */
import { createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../src/lib/make-folder.ts';
import type { LoggedRequest } from '../test/support/apiserver/api-server.ts';
import type { PodLog } from '../test/support/apiserver/pods.ts';
import type { Seed } from '../test/support/apiserver/seed.ts';
import { freePort } from '../test/support/free-port.ts';
import type { KeystoneStandIn } from '../test/support/keystone/standin.ts';
import { contextsOf } from '../test/support/kubeconfig.ts';
import { printedManifests, seedManifests } from '../test/support/manifests.ts';
import { createTestbed, type Testbed } from '../test/support/testbed.ts';
import { quotaConfiguration, seedQuota } from './seed-quota.ts';
import { startStonegateProcess } from './stonegate-process.ts';

export interface PlaygroundOptions {
  readonly folder: string;
  /** Preferred ports; otherwise any free ones. */
  readonly ports?: { readonly stonegate: number; readonly admin: number; readonly portal: number };
}

export interface Playground {
  readonly folder: string;
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
const API_SERVER_VERSION = 'v0.9.0';
/** The file of dave's token, for `stonegate explain`. */
const TOKEN_FILE = 'dave.token';

/** @throws Error if Stonegate does not become ready; everything is closed then */
export async function openPlayground({ folder, ports }: PlaygroundOptions): Promise<Playground> {
  await makeFolder(folder);
  await rm(join(folder, 'audit.log'), { force: true });
  const stonegate = await freePort(ports?.stonegate);
  const adminPort = await freePort(ports?.admin);
  const portalPort = await freePort(ports?.portal);
  const admissionPort = await freePort();
  const requestLog = createWriteStream(join(folder, 'apiserver.log'), { mode: 0o600 });
  const testbed = await createTestbed({
    folder,
    tokenLife: TOKEN_LIFE,
    gitVersion: API_SERVER_VERSION,
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
  const stopTalking = keepTalking([testbed.log, ...seedTenants(seed)]);
  seedReader(seed);
  const closeTestbed = async (): Promise<void> => {
    stopTalking();
    await testbed.close();
    requestLog.end();
  };

  try {
    await writeFile(join(folder, 'service-password'), seedService(testbed.keystone), { mode: 0o600 });
    const roles = await printedManifests('roles', '--mode', 'arktos');
    for (const tenant of Object.keys(TENANTS)) seedManifests(seed, roles, {}, { tenant });
    await seedQuota(testbed, admissionPort, ACME_PODS);
    const url = `https://127.0.0.1:${stonegate}`;
    const admin = `http://127.0.0.1:${adminPort}`;
    const tokens = {
      'acme-alice': testbed.keystoneToken('alice'),
      'acme-dave': tokenOfDave(testbed.keystone),
      'globex-bob': testbed.keystoneToken('bob'),
      'acme-carol': await testbed.provider.idToken('carol'),
    };
    const kubeconfig = contextsOf({ url, ca: testbed.authority.cert }, tokens);
    await writeFile(join(folder, 'kubeconfig'), kubeconfig, { mode: 0o600 });
    await writeFile(join(folder, TOKEN_FILE), tokens['acme-dave'], { mode: 0o600 });
    const { configFile } = testbed;
    const child = await startStonegateProcess({ configFile, logFile: join(folder, 'stonegate.log'), admin });
    return {
      folder,
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
const TENANTS = {
  acme: { namespace: 'shop', greeting: 'hello from acme', replicas: 2 },
  globex: { namespace: 'laboratory', greeting: 'hello from globex', replicas: 3 },
} as const;
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

function seedReader(seed: Seed): void {
  const tenant = 'acme';
  seed.clusterRole('reader', READER.rules, { tenant });
  seed.namespace('staging', { tenant });
  for (const namespace of READER.namespaces) {
    seed.roleBinding('readers', 'reader', ['user:acme:dave'], { tenant, namespace });
    seed.pod('till', { tenant, namespace });
  }
}

/** @returns the log of a second pod in each tenant */
function seedTenants(seed: Seed): PodLog[] {
  return Object.entries(TENANTS).map(([tenant, { namespace, greeting, replicas }]) => {
    seed.namespace(namespace, { tenant });
    seed.configMap('greeting', { text: greeting }, { tenant });
    seed.configMap('prices', { bread: '3.20' }, { tenant, namespace });
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'nginx' }] } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    seed.object('apps/v1/deployments', 'web', { spec }, { tenant });
    return seed.pod('worker', { tenant });
  });
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

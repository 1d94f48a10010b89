/**
 * The demo's environment on loopback: stand-ins for the API server and Keystone and a real OIDC provider in
 * this process, Stonegate in its own process, users with tokens, and a folder with configuration and logs.
 */
import { createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { LoggedRequest } from '../test/support/apiserver/api-server.ts';
import type { PodLog } from '../test/support/apiserver/pods.ts';
import type { Seed } from '../test/support/apiserver/seed.ts';
import { freePort } from '../test/support/free-port.ts';
import type { KeystoneStandIn } from '../test/support/keystone/standin.ts';
import { createTestbed, type Testbed } from '../test/support/testbed.ts';
import { startStonegateProcess } from './stonegate-process.ts';

/** Preferred ports; any free one if one is in use. */
const PORTS = { stonegate: 8443, admin: 9090, portal: 8444 };

export interface Playground {
  readonly folder: string;
  readonly testbed: Testbed;
  /** `https://127.0.0.1:port` of Stonegate. */
  readonly url: string;
  /** `http://127.0.0.1:port` of its admin listener. */
  readonly admin: string;
  /** `https://localhost:port` of its portal. */
  readonly portal: string;
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
export async function openPlayground(folder: string): Promise<Playground> {
  await rm(join(folder, 'audit.log'), { force: true });
  const stonegate = await freePort(PORTS.stonegate);
  const adminPort = await freePort(PORTS.admin);
  const portalPort = await freePort(PORTS.portal);
  const requestLog = createWriteStream(join(folder, 'apiserver.log'), { mode: 0o600 });
  const testbed = await createTestbed({
    folder,
    tokenLife: TOKEN_LIFE,
    gitVersion: API_SERVER_VERSION,
    portal: { port: portalPort },
    configuration: {
      access: { index: true, authorizers: ['Node', 'RBAC'] },
      server: { bind: `127.0.0.1:${stonegate}`, drain: '0s', shutdownGrace: '3s' },
      admin: { bind: `127.0.0.1:${adminPort}` },
    },
    onRequest: (request) => requestLog.write(logLine(request)),
  });
  const stopTalking = keepTalking([testbed.log, ...seedTenants(testbed.apiServer.seed)]);
  seedReader(testbed.apiServer.seed);
  const closeTestbed = async (): Promise<void> => {
    stopTalking();
    await testbed.close();
    requestLog.end();
  };

  try {
    const url = `https://127.0.0.1:${stonegate}`;
    const admin = `http://127.0.0.1:${adminPort}`;
    const tokens = {
      'acme-alice': testbed.keystoneToken('alice'),
      'acme-dave': tokenOfDave(testbed.keystone),
      'globex-bob': testbed.keystoneToken('bob'),
      'acme-carol': await testbed.provider.idToken('carol'),
    };
    const kubeconfig = kubeconfigOf(url, testbed.authority.cert, tokens);
    await writeFile(join(folder, 'kubeconfig'), kubeconfig, { mode: 0o600 });
    await writeFile(join(folder, TOKEN_FILE), tokens['acme-dave'], { mode: 0o600 });
    const { configFile } = testbed;
    const child = await startStonegateProcess(configFile, join(folder, 'stonegate.log'), admin);
    return {
      folder,
      testbed,
      url,
      admin,
      portal: `https://localhost:${portalPort}`,
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

/** A user of acme with few rights. */
function tokenOfDave({ directory, issue }: KeystoneStandIn): string {
  const project = directory.project('acme', 'web');
  const dave = directory.user('acme', 'dave');
  directory.assign(dave, 'reader', { project });
  return issue(dave, { project }, { life: TOKEN_LIFE * 1_000 });
}

/** Objects in addition to those of every testbed: as far as possible the same names in both tenants. */
const TENANTS = {
  acme: { namespace: 'shop', greeting: 'hello from acme', replicas: 2 },
  globex: { namespace: 'laboratory', greeting: 'hello from globex', replicas: 3 },
} as const;
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

/**
 * For an unmodified kubectl.
 *
 * @param ca PEM
 * @param tokens context → the token it sends; the first is the current context
 */
function kubeconfigOf(server: string, ca: string, tokens: Readonly<Record<string, string>>): string {
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const users = Object.entries(tokens);
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'stonegate', cluster }],
    users: users.map(([name, token]) => ({ name, user: { token } })),
    contexts: users.map(([name]) => ({ name, context: { cluster: 'stonegate', user: name } })),
    'current-context': users[0]?.[0] ?? '',
  };
  return stringify(kubeconfig, { lineWidth: 0 });
}

/** A line of the log: the rewritten path, the impersonated user and the groups. */
function logLine({ method, url, headers }: LoggedRequest): string {
  const { 'impersonate-user': user = 'Stonegate itself', 'impersonate-group': groups } = headers;
  const list = groups === undefined ? '' : ` groups ${[groups].flat().join(', ')}`;
  return `${new Date().toISOString()} ${method} ${url} as ${String(user)}${list}\n`;
}

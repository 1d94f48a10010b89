/**
 * A real kube-apiserver with its own etcd on loopback, for decisions of an ordinary Kubernetes. Nothing is
 * stored permanently, there is no kubelet, and `stop` ends everything.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { freePort } from '../free-port.ts';
import { type Ask, createHttpsClient, type HttpsClient, type Reply } from '../https-client.ts';
import { type Credential, kubeconfigOf } from '../kubeconfig.ts';
import { type Authority, createAuthority, type KeyPair } from '../tls/authority.ts';
import { type ServerProcess, startServerProcess } from './process.ts';
import { etcd, kubeApiserver, kubeControllerManager, NEWEST, type Release } from './programs.ts';

/** The issuer of tokens of service accounts. */
const SERVICE_ACCOUNT_ISSUER = 'https://kubernetes.default.svc.cluster.local';

export interface KubernetesOptions {
  readonly release?: Release;
  /** Additional files beside those of the server: name → content. */
  readonly files?: Readonly<Record<string, string>>;
  /**
   * Additional flags of kube-apiserver, which replace the usual ones of the same name. `file` returns the
   * path of one of `files`.
   */
  readonly flags?: (file: (name: string) => string) => readonly string[];
  /** Runs kube-controller-manager: namespaces terminate, cluster roles are aggregated, quotas are counted. */
  readonly controllers?: boolean;
  /** The interval at which quotas are recounted without a change, in Go's format: `5m`. */
  readonly quotaSync?: string;
}

export interface Kubernetes {
  readonly release: Release;
  readonly url: string;
  readonly port: number;
  /** The CA that signed the server's certificate, and whose client certificates the server trusts. */
  readonly authority: Authority;
  /** A client certificate for the user in these groups. */
  user(name: string, groups?: readonly string[]): Promise<Credential>;
  /** A member of `system:masters`. */
  readonly admin: Credential;
  ask(credential: Credential, path: string, options?: Ask): Promise<Reply>;
  /** The head of the response; the caller reads or destroys it. */
  open(credential: Credential, path: string, options?: Ask): Promise<IncomingMessage>;
  /** Sends a request as the administrator; rejects if it fails. */
  admit(method: string, path: string, object?: object): Promise<Reply>;
  /** Creates an object of any kind as the administrator; `path` is that of the collection. */
  create(path: string, object: object): Promise<void>;
  /** The text of a kubeconfig for this server or for one in front of it. */
  kubeconfig(credential: Credential, server?: { readonly url: string; readonly ca: string }): string;
  /** Restarts kube-apiserver with the same objects. */
  restart(): Promise<void>;
  /** Stops kube-apiserver, lets `meanwhile` change the storage, and starts it again. */
  restartAfter(meanwhile: (storage: Storage) => Promise<void>): Promise<void>;
  readonly storage: Storage;
  /** The output of kube-apiserver so far. */
  log(): string;
}

/** etcd, bypassing kube-apiserver. https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/ */
export type Storage = ReturnType<typeof storageAt>;

const CONTROLLERS = [
  'namespace-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'root-ca-certificate-publisher-controller',
  'garbage-collector-controller',
  'clusterrole-aggregation-controller',
  'resourcequota-controller',
  'deployment-controller',
  'replicaset-controller',
];

interface Servers {
  readonly storage: ServerProcess;
  api: ServerProcess;
  controllers?: ServerProcess;
}

/** Resolves when it is ready; ends with the test. */
export async function startKubernetes(
  t: Pick<Test, 'teardown'>,
  options: KubernetesOptions = {},
): Promise<Kubernetes> {
  const { release = NEWEST } = options;
  const folder = mkdtempSync(join(tmpdir(), 'stonegate-kubernetes-'));
  const file = (name: string) => join(folder, name);
  const authority = await createAuthority('Kubernetes test CA');
  const userOf = async (name: string, groups: readonly string[] = []): Promise<Credential> => ({
    certificate: await authority.client(name, groups),
  });
  const admin = await userOf('admin', ['system:masters']);
  await writeFiles(file, authority, options.files ?? {});

  const { storage, etcdPort } = await startStorage(file);
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const clients = new Map<KeyPair | undefined, HttpsClient>();
  const clientOf = ({ certificate }: Credential): HttpsClient => {
    const client = clients.get(certificate) ?? createHttpsClient({ port, ca: authority.cert, certificate });
    clients.set(certificate, client);
    return client;
  };
  const ask: Kubernetes['ask'] = (credential, path, options) =>
    clientOf(credential).ask(credential.token, path, options);
  const isReady = async () => {
    try {
      return (await ask(admin, '/readyz')).status === 200;
    } catch (error) {
      if (error instanceof Error && 'code' in error) return false;
      throw error;
    }
  };

  const given = options.flags?.(file) ?? [];
  const words = [...apiServerFlags(file, etcdPort, port).filter((flag) => !isAmong(flag, given)), ...given];
  const startApiServer = (): ServerProcess =>
    startServerProcess(kubeApiserver(release), words, file('kube-apiserver.log'));
  const servers: Servers = { storage, api: startApiServer() };

  t.teardown(async () => {
    for (const client of clients.values()) client.close();
    await Promise.all([servers.controllers?.stop(), servers.api.stop(), servers.storage.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const kubernetes: Kubernetes = {
    release,
    url,
    port,
    authority,
    admin,
    user: userOf,
    ask,
    open: (credential, path, options) => clientOf(credential).open(credential.token, path, options),
    async admit(method, path, object) {
      const headers = { 'content-type': 'application/json' };
      const body = object === undefined ? {} : { body: JSON.stringify(object) };
      const reply = await ask(admin, path, { method, headers, ...body });
      if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.body}`);
      return reply;
    },
    async create(path, object) {
      await kubernetes.admit('POST', path, object);
    },
    kubeconfig: (credential, server = { url, ca: authority.cert }) => kubeconfigOf(server, credential),
    restart: () => kubernetes.restartAfter(async () => {}),
    async restartAfter(meanwhile) {
      await servers.api.stop();
      await meanwhile(kubernetes.storage);
      servers.api = startApiServer();
      await servers.api.whenReady(isReady);
    },
    storage: storageAt(etcdPort),
    log: () => servers.api.output(),
  };

  await servers.api.whenReady(isReady);
  if (options.controllers === true) {
    writeFileSync(file('controllers.kubeconfig'), kubernetes.kubeconfig(admin));
    servers.controllers = startServerProcess(
      kubeControllerManager(),
      controllerFlags(file, options.quotaSync ?? '1s'),
      file('controllers.log'),
    );
  }
  return kubernetes;
}

function storageAt(port: number) {
  async function call(path: string, body: object): Promise<{ header: { revision: string } }> {
    const init = { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`http://127.0.0.1:${port}/v3/kv/${path}`, init);
    if (!response.ok) throw new Error(`etcd: ${response.status} ${await response.text()}`);
    const answer: { header: { revision: string } } = JSON.parse(await response.text());
    return answer;
  }
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return {
    /** Discards all revisions except the last one. */
    async compact() {
      const { header } = await call('range', { key: base64('x') });
      await call('compaction', { revision: header.revision, physical: true });
    },
    /** @param key for example `/registry/namespaces/team` */
    async delete(key: string) {
      await call('deleterange', { key: base64(key) });
    },
  };
}

async function writeFiles(
  file: (name: string) => string,
  authority: Authority,
  files: Readonly<Record<string, string>>,
) {
  const served = await authority.server('kube-apiserver');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const all = {
    'ca.crt': authority.cert,
    'tls.crt': served.cert,
    'tls.key': served.key,
    'service-account.key': privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
    'service-account.pub': publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    ...files,
  };
  for (const [name, content] of Object.entries(all)) writeFileSync(file(name), content, { mode: 0o600 });
}

const STORAGE_TRIES = 3;

/**
 * Starts etcd and waits until it is ready, since kube-apiserver exits if it waits longer than 20 seconds. If
 * etcd exits, tries again with other ports, since another program may have taken one of them meanwhile.
 */
async function startStorage(
  file: (name: string) => string,
): Promise<{ readonly storage: ServerProcess; readonly etcdPort: number }> {
  for (let tries = 1; ; tries += 1) {
    const [etcdPort, peerPort] = [await freePort(), await freePort()];
    const storage = startServerProcess(etcd(), etcdFlags(file, etcdPort, peerPort), file('etcd.log'));
    try {
      await storage.whenReady(() => isHealthy(etcdPort));
      return { storage, etcdPort };
    } catch (error) {
      await storage.stop();
      rmSync(file('etcd'), { recursive: true, force: true });
      if (tries === STORAGE_TRIES) throw error;
    }
  }
}

async function isHealthy(etcdPort: number) {
  try {
    return (await fetch(`http://127.0.0.1:${etcdPort}/health`)).ok;
  } catch {
    // etcd does not listen yet.
    return false;
  }
}

function etcdFlags(file: (name: string) => string, port: number, peerPort: number) {
  const [url, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  return [
    `--data-dir=${file('etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--unsafe-no-fsync',
    '--log-level=error',
  ];
}

function apiServerFlags(file: (name: string) => string, etcdPort: number, port: number) {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${file('tls.crt')}`,
    `--tls-private-key-file=${file('tls.key')}`,
    `--client-ca-file=${file('ca.crt')}`,
    `--service-account-key-file=${file('service-account.pub')}`,
    `--service-account-signing-key-file=${file('service-account.key')}`,
    `--service-account-issuer=${SERVICE_ACCOUNT_ISSUER}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--authorization-mode=Node,RBAC',
    '--endpoint-reconciler-type=none',
    // Pods can be created without a service account, and therefore without controllers.
    '--disable-admission-plugins=ServiceAccount',
    '--allow-privileged=true',
  ];
}

/** Some flags may not be given twice, and lists would be concatenated. */
function isAmong(flag: string, others: readonly string[]) {
  const [name] = flag.split('=');
  return others.some((other) => other.split('=')[0] === name);
}

function controllerFlags(file: (name: string) => string, quotaSync: string) {
  return [
    `--kubeconfig=${file('controllers.kubeconfig')}`,
    `--controllers=${CONTROLLERS.join(',')}`,
    `--service-account-private-key-file=${file('service-account.key')}`,
    `--root-ca-file=${file('ca.crt')}`,
    '--leader-elect=false',
    '--secure-port=0',
    // Recounts the usage of changed pods, since the controller does not notice every decrease.
    `--resource-quota-sync-period=${quotaSync}`,
  ];
}

/**
 * The time until the RBAC index of a large cluster is complete, beside that of the plain lists: the same
 * pages from the same kube-apiserver with the same HTTP client, only parsed. Prints the figures as JSON.
 * Started by `index-ready.ts`.
 */

import { commandRuntime } from '../../../src/config/build.ts';
import { createRBACInformers } from '../../../src/features/rbac-index/rbac-informers.ts';
import { INDEXED_RESOURCES, type IndexedResource } from '../../../src/kubernetes/rbac-v1.ts';
import { STONEGATE_ACCOUNT } from '../../../src/kubernetes/upstream-request.ts';
import { mapWithConcurrency } from '../../../src/lib/concurrency.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { createUpstream, type Upstream } from '../../../src/upstream/upstream.ts';
import { isObject } from '../../support/apiserver/json.ts';
import { type Kubernetes, startKubernetes } from '../../support/kubernetes/api-server.ts';
import { createLists, SIZE } from '../access-cluster.ts';
import { median } from '../statistics.ts';

const ROUNDS = 5;
const WRITERS = 32;
const SECONDS = 1_000;
const PAGE = 500;
const ORDER = ['clusterroles', 'namespaces', 'rolebindings', 'clusterrolebindings'] as const;
const runtime = commandRuntime();

function pathOf(resource: IndexedResource, namespace = ''): string {
  if (resource === 'namespaces') return '/api/v1/namespaces';
  const within = namespace === '' ? '' : `/namespaces/${namespace}`;
  return `/apis/rbac.authorization.k8s.io/v1${within}/${resource}`;
}

async function fill(kubernetes: Kubernetes): Promise<void> {
  const lists = createLists();
  for (const resource of ORDER) {
    const objects = lists[resource].flatMap((page) => {
      const list: { items: { metadata: Record<string, unknown> }[] } = JSON.parse(page);
      return list.items;
    });
    await mapWithConcurrency(objects, WRITERS, ({ metadata, ...rest }) => {
      const { name, namespace, labels, annotations } = metadata;
      const path = pathOf(resource, typeof namespace === 'string' ? namespace : '');
      return kubernetes.create(path, { ...rest, metadata: { name, labels, annotations } });
    });
  }
}

function connect({ admin, authority, url }: Kubernetes): Upstream {
  if (admin.certificate === undefined) throw new TypeError('the administrator has no certificate');
  const { cert, key } = admin.certificate;
  return createUpstream({
    ...runtime,
    server: url,
    ca: authority.cert,
    credential: { cert: Buffer.from(cert), key: Buffer.from(key) },
    timeouts: { connect: 10 * SECONDS, response: 60 * SECONDS, body: 60 * SECONDS },
    maxBodyBytes: 16_000_000,
    limits: { tenantQueue: { requests: 16, bytes: 65_536 }, sources: 1 },
  });
}

async function buildIndex(upstream: Upstream): Promise<void> {
  const index = new RBACIndex();
  const informers = createRBACInformers({ ...runtime, index, hasTenants: false, upstream });
  const synced = new Promise<void>((resolve) => {
    index.subscribe({ progressed: () => resolve() });
  });
  informers.start();
  await synced;
  if (index.countOf('rolebindings') < SIZE.namespaces * SIZE.bindingsPerNamespace)
    throw new Error('the index is not complete');
  await informers.stop();
}

async function listPlainly(upstream: Upstream, resource: IndexedResource): Promise<void> {
  for (let next = ''; ; ) {
    const target = `${pathOf(resource)}?limit=${PAGE}${next && `&continue=${encodeURIComponent(next)}`}`;
    const { status, body } = await upstream.fetch(
      {
        account: STONEGATE_ACCOUNT,
        sender: { kind: 'stonegate' },
        method: 'GET',
        target,
        headers: [['Accept', 'application/json']],
      },
      new AbortController().signal,
    );
    const page: unknown = JSON.parse(body.toString());
    if (status !== 200 || !isObject(page) || !isObject(page.metadata))
      throw new Error(`${target}: ${status}`);
    if (typeof page.metadata.continue !== 'string' || page.metadata.continue === '') return;
    next = page.metadata.continue;
  }
}

interface Measured {
  readonly ms: number;
  /** Of this process. */
  readonly cpuMs: number;
}

async function measured(action: () => Promise<unknown>): Promise<Measured> {
  globalThis.gc?.();
  const [cpu, began] = [process.cpuUsage(), performance.now()];
  await action();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - began, cpuMs: (user + system) / 1_000 };
}

const kubernetes = await startKubernetes();
const upstream = connect(kubernetes);
try {
  await fill(kubernetes);
  const rounds: { index: Measured; plain: Measured }[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push({
      index: await measured(() => buildIndex(upstream)),
      plain: await measured(() =>
        Promise.all(INDEXED_RESOURCES.map((resource) => listPlainly(upstream, resource))),
      ),
    });
  const of = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick));
  console.log(
    JSON.stringify({
      bindings: SIZE.namespaces * SIZE.bindingsPerNamespace,
      indexMs: of(({ index }) => index.ms),
      plainMs: of(({ plain }) => plain.ms),
      ratio: of(({ index, plain }) => index.ms / plain.ms),
      cpuRatio: of(({ index, plain }) => index.cpuMs / plain.cpuMs),
    }),
  );
} finally {
  await upstream.destroy();
  await kubernetes.stop();
}

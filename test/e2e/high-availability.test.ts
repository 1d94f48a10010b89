/**
 * Two replicas behind a load balancer, under load from kubectl, an informer, `kubectl exec` and a client that
 * creates objects: what clients lose when a replica ends.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { addRunningPod } from '../support/high-availability/kubelet.ts';
import { createWriter, type Load, repeatKubectl } from '../support/high-availability/load.ts';
import { haproxyMissing } from '../support/high-availability/load-balancer.ts';
import { NAMESPACE, type ReplicaSite, startReplicaSite } from '../support/high-availability/replicas.ts';
import { kubeconfigOf } from '../support/kubeconfig.ts';
import { prints } from '../support/kubectl-users.ts';
import { informer, missing, missingKubernetes } from '../support/kubernetes/programs.ts';
import { type InformerEvent, runInformer } from '../support/kubernetes/run-informer.ts';
import { redisMissing } from '../support/redis/redis-server.ts';
import type { StonegateProcess } from '../support/stonegate-process.ts';

const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const POD = 'web';
const WRITERS = 4;
/** Errors that clients report if a connection breaks, perhaps before its handshake has ended. */
const BROKEN = /ECONNRESET|socket hang up|EOF|connection reset|disconnected before secure TLS connection/;

const newest = findKubectls().at(-1);
const absent =
  redisMissing() ??
  (haproxyMissing() || missingKubernetes() || missing(informer()) || (newest === undefined && NO_KUBECTL));

/** Starts alice's clients, which know only the load balancer. */
async function startClients(t: Test, site: ReplicaSite, prefix: string) {
  const { balancer, testbed } = site;
  if (newest === undefined) throw new Error(NO_KUBECTL);
  const token = testbed.keystoneToken('alice');
  const target = { port: balancer.port, ca: testbed.authority.cert, token };
  const server = `https://127.0.0.1:${balancer.port}`;
  const kubectl = createKubectl(t, newest, { ...target, server });
  const kubeconfig = join(dirname(testbed.configFile), 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigOf({ url: server, ca: target.ca }, { token }));
  const informed = runInformer(kubeconfig, 'v1/configmaps', NAMESPACE);
  t.teardown(() => informed.stop());
  const events: InformerEvent[] = [];
  const following = (async () => {
    for (let event = await informed.next(); event !== undefined; event = await informed.next())
      events.push(event);
  })();
  const writers = Array.from({ length: WRITERS }, (_, index) =>
    createWriter({ ...target, path: CONFIG_MAPS, prefix: `${prefix}${index}` }),
  );
  const readers = [repeatKubectl(kubectl, ['-n', NAMESPACE, 'get', 'configmap', 'settings'])];
  const loads: readonly Load[] = [...writers, ...readers];
  t.teardown(() => Promise.all(loads.map((load) => load.stop())));
  return {
    kubectl,
    writers,
    loads,
    events,
    failures: () => loads.flatMap(({ failures }) => failures),
    more: () => Promise.all(loads.map((load) => load.more())),
    async stop() {
      await Promise.all(loads.map((load) => load.stop()));
      // The informer may still be waiting for the last objects.
      const created = writers.flatMap((writer) => writer.created);
      await eventually(() => created.every((name) => events.some((event) => event.name === name)));
      await informed.stop();
      await following;
    },
  };
}

type Clients = Awaited<ReturnType<typeof startClients>>;

/** Resolves when all clients work and the informer has synced. */
async function startWorkingClients(t: Test, site: ReplicaSite, prefix: string) {
  const clients = await startClients(t, site, prefix);
  await clients.more();
  await eventually(() => clients.events.some(({ event }) => event === 'synced'));
  return clients;
}

/** Opens a `kubectl exec` that echoes its input. */
async function openShell(t: Test, { kubectl }: Clients) {
  const child = kubectl.start(['-n', NAMESPACE, 'exec', '-i', POD, '--', 'cat']);
  t.teardown(() => child.kill());
  const ended = once(child, 'close').then(([code]: unknown[]) => code);
  return {
    ended,
    async echoes(word: string) {
      child.stdin?.write(`${word}\n`);
      await prints(child, new RegExp(word));
    },
    close: () => child.stdin?.end(),
  };
}

/** The number of open exec requests of a replica. */
async function tunnelsOf(replica: StonegateProcess) {
  const { text } = await replica.admin('/metrics');
  return Number(/^stonegate_requests_active\{kind="exec"\} (\d+)/m.exec(text)?.[1] ?? 0);
}

/** Asserts that every created object exists, and that the informer has seen each once and no error. */
async function nothingIsLost(t: Test, { kubernetes }: ReplicaSite, { writers, events }: Clients) {
  const { items }: { items: { metadata: { name: string } }[] } = JSON.parse(
    (await kubernetes.admit('GET', CONFIG_MAPS)).body,
  );
  const stored = new Set(items.map(({ metadata }) => metadata.name));
  const created = writers.flatMap((writer) => writer.created);
  t.same(
    created.filter((name) => !stored.has(name)),
    [],
    'each confirmed object exists',
  );
  const added = events.filter(({ event }) => event === 'added').map(({ name }) => name);
  t.equal(new Set(added).size, added.length, 'the informer sees no object twice');
  t.same(
    events.filter(({ event }) => event === 'error'),
    [],
    'its watch resumes without an error',
  );
}

/** Sends SIGTERM; ends the drain after the load balancer has reacted and clients have made more requests. */
async function drain(replica: StonegateProcess, { balancer }: ReplicaSite, clients: Clients) {
  replica.signal('SIGTERM');
  await eventually(async () => !(await balancer.isUp(replica)));
  await clients.more();
  replica.signal('SIGINT');
}

t.test(
  'the HAProxy configuration in docs/high-availability.md is valid',
  { skip: haproxyMissing() },
  async (t) => {
    const [, , text = ''] =
      /```\n((defaults\n.*?)```)/s.exec(readFileSync('docs/high-availability.md', 'utf8')) ?? [];
    const file = join(t.testdir(), 'haproxy.cfg');
    writeFileSync(file, text);
    await t.resolves(promisify(execFile)('haproxy', ['-c', '-f', file]));
  },
);

t.test('two replicas', { skip: absent }, async (t) => {
  const site = await startReplicaSite(t);
  const { kubernetes, validations } = site;
  await kubernetes.create(CONFIG_MAPS, { metadata: { name: 'settings' } });
  await addRunningPod(t, kubernetes, NAMESPACE, POD);
  const first = await site.addReplica();
  const second = await site.addReplica();

  await t.test('SIGTERM loses no request, and an open exec continues until it ends', async (t) => {
    const clients = await startWorkingClients(t, site, 'a');
    const validated = validations();
    const shells = [];
    while ((await tunnelsOf(first)) === 0 || (await tunnelsOf(second)) === 0) {
      const shell = await openShell(t, clients);
      await shell.echoes('before');
      shells.push(shell);
    }
    await drain(first, site, clients);
    await clients.more();
    for (const shell of shells) {
      await shell.echoes('after');
      shell.close();
      t.equal(await shell.ended, 0, 'the command succeeds');
    }
    t.match(await first.ended, { code: 0, signal: null });

    await site.addReplica();
    await drain(second, site, clients);
    t.match(await second.ended, { code: 0, signal: null });
    await clients.more();
    await clients.stop();
    t.same(clients.failures(), []);
    await nothingIsLost(t, site, clients);
    t.equal(validations(), validated, 'a new replica finds validated tokens in Redis');
  });

  await t.test('SIGKILL loses only requests in flight', async (t) => {
    const killed = await site.addReplica();
    const clients = await startWorkingClients(t, site, 'b');
    const validated = validations();
    killed.signal('SIGKILL');
    await killed.ended;
    const endedAt = Date.now();
    await clients.more();
    await clients.stop();
    for (const { reason, begunAt } of clients.failures()) {
      t.ok(begunAt <= endedAt, `it was in flight: ${reason}`);
      t.match(reason, BROKEN);
    }
    await nothingIsLost(t, site, clients);
    t.equal(validations(), validated);
  });
});

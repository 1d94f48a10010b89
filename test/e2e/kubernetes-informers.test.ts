/**
 * client-go informers at a real kube-apiserver and two replicas of Stonegate: while rights and objects
 * change, connections break and replicas change, each store ends up with what the API server would allow.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { startRelay } from '../support/high-availability/relay.ts';
import { informer, missing, missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind, RBAC } from '../support/kubernetes/rbac.ts';
import { storeOf } from '../support/kubernetes/run-informer.ts';
import { prepareKubernetesSite } from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';
import { serveTestbed, startReplica } from '../support/stonegate.ts';

const NAMESPACES = '/api/v1/namespaces';
const PLACES = ['a', 'b', 'c', 'd'] as const;
const skip = missingKubernetes() || missing(informer());

async function start(t: Test, replicas: number) {
  const { kubernetes, testbed } = await prepareKubernetesSite(t, {
    configuration: { access: { index: true, authorizers: ['Node', 'RBAC'] } },
  });
  const servers = [await serveTestbed(t, testbed)];
  for (let at = 1; at < replicas; at += 1) servers.push(await startReplica(t, testbed));
  await kubernetes.create(`${RBAC}/clusterroles`, {
    metadata: { name: 'reader' },
    rules: [rule('get', 'namespaces'), rule('get,list,watch', 'configmaps')],
  });
  for (const name of PLACES) await kubernetes.create(NAMESPACES, { metadata: { name } });
  const ports = servers.map(({ app }) => app.address.port);
  const link = await startRelay(t, ports[0] ?? 0);
  const [first] = servers;
  if (first === undefined) throw new Error('no server');
  const kubeconfig = join(dirname(testbed.configFile), 'kubeconfig');
  const token = first.keystoneToken('alice');
  await writeFile(
    kubeconfig,
    kubernetes.kubeconfig({ token }, { url: `https://127.0.0.1:${link.port}`, ca: first.authority.cert }),
  );

  const granted = new Set<string>();
  const objects = new Set<string>();
  const cluster = {
    async grant(place: string) {
      if (granted.has(place)) return;
      granted.add(place);
      await bind(kubernetes, {
        name: 'readers',
        namespace: place,
        role: 'reader',
        subjects: ['user:acme:alice'],
      });
    },
    async revoke(place: string) {
      if (granted.delete(place))
        await kubernetes.admit('DELETE', `${RBAC}/namespaces/${place}/rolebindings/readers`);
    },
    async create(place: string, name: string) {
      if (objects.has(`${place}/${name}`)) return;
      objects.add(`${place}/${name}`);
      await kubernetes.create(`${NAMESPACES}/${place}/configmaps`, { metadata: { name } });
    },
    async remove(place: string, name: string) {
      if (objects.delete(`${place}/${name}`))
        await kubernetes.admit('DELETE', `${NAMESPACES}/${place}/configmaps/${name}`);
    },
  };
  await cluster.grant('a');
  await eventually(async () => {
    for (const server of servers) {
      const reply = await server.ask(token, NAMESPACES);
      if (JSON.parse(reply.body).items?.length !== 1) return false;
    }
    return true;
  });
  const stores = {
    namespaces: storeOf(kubeconfig, 'v1/namespaces'),
    objects: storeOf(kubeconfig, 'v1/configmaps'),
  };
  t.teardown(async () => {
    await stores.namespaces.stop();
    await stores.objects.stop();
  });
  /** Whether both stores contain what the API server would allow. */
  const areRight = () => {
    const mayRead = [...objects].filter((name) => granted.has(name.split('/')[0] ?? '')).sort();
    const isRight = stores.namespaces.names().join() === [...granted].sort().join();
    return isRight && stores.objects.names().join() === mayRead.join();
  };
  /** How often a list, or a watch that begins with all objects, was requested. */
  const lists = async (resource: string) => {
    const audited = await first.audited();
    return audited.filter(
      ({ requestURI, stage, userAgent }) =>
        stage === 'ResponseComplete' &&
        userAgent?.startsWith('informer') &&
        new RegExp(`^/api/v1/${resource}\\?`).test(requestURI) &&
        (!requestURI.includes('watch=true') || requestURI.includes('sendInitialEvents=true')),
    ).length;
  };
  return { cluster, link, ports, stores, areRight, lists };
}

t.test(
  'at one replica no informer lists more than once for each change of its rights',
  { skip },
  async (t) => {
    const { cluster, areRight, lists, stores } = await start(t, 1);
    await cluster.create('a', 'first');
    await eventually(areRight);
    const before = { namespaces: await lists('namespaces'), configmaps: await lists('configmaps') };
    let changes = 0;
    for (const place of ['b', 'c'])
      for (const change of [cluster.grant, cluster.revoke]) {
        await cluster.create(place, `in-${place}`);
        await change(place);
        changes += 1;
        await eventually(areRight);
        const seen = stores.objects.events();
        await cluster.create('a', `after-${changes}`);
        await eventually(() => areRight() && stores.objects.events() > seen);
      }
    t.ok(
      (await lists('configmaps')) - before.configmaps <= changes,
      'ConfigMaps are listed at most once for each change',
    );
    t.equal(await lists('namespaces'), before.namespaces, 'namespaces are not listed again');
  },
);

t.test(
  'informers that lose connections and change replicas end up with what their user may see',
  { skip },
  async (t) => {
    const { cluster, link, ports, areRight, lists, stores } = await start(t, 2);
    const [one = 0, other = 0] = ports;
    let target = one;
    for (let round = 0; round < 12; round += 1) {
      const place = PLACES[round % PLACES.length] ?? 'a';
      const next = PLACES[(round + 1) % PLACES.length] ?? 'a';
      await cluster.create(place, `of-${round}`);
      if (round % 3 === 0) link.turnTo(target);
      await (round % 2 === 0 ? cluster.grant(next) : cluster.revoke(place));
      if (round % 4 === 1) {
        target = round % 8 === 1 ? other : one;
        link.turnTo(target);
      }
      await cluster.remove(next, `of-${round - 3}`);
    }
    await eventually(areRight);
    let at = 0;
    await eventually(async () => {
      const before = [await lists('namespaces'), await lists('configmaps')].join();
      await cluster.grant('a');
      const seen = stores.objects.events();
      await cluster.create('a', `settled-${at}`);
      at += 1;
      await eventually(() => areRight() && stores.objects.events() > seen);
      return before === [await lists('namespaces'), await lists('configmaps')].join();
    });
    t.pass('and then stop listing');
  },
);

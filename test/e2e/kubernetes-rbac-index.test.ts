/**
 * The RBAC index in front of a real kube-apiserver: after a restart, after etcd compacted its history, and
 * without its right.
 */
import t from 'tap';
import type { JsonObject } from '../support/apiserver/json.ts';
import { isObject } from '../support/apiserver/json.ts';
import { eventually } from '../support/eventually.ts';
import { indexMetrics } from '../support/index-metrics.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { RBAC } from '../support/kubernetes/rbac.ts';
import { apply, startKubernetesSite } from '../support/kubernetes/site.ts';

const configuration = { access: { index: true, authorizers: ['Node', 'RBAC'] } };
const CONFIG_MAPS = '/api/v1/configmaps?fieldSelector=metadata.name!%3Dkube-root-ca.crt';

interface List {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly unknown[];
}

t.test('the RBAC index at a real kube-apiserver', { skip: missingKubernetes() }, async (t) => {
  const { kubernetes, stonegate, letWork } = await startKubernetesSite(t, { configuration });
  const { app } = stonegate;
  await eventually(async () => (await indexMetrics(app)).synced);
  const readiness = () => app.readiness().find(({ name }) => name === 'rbac index');
  t.equal(readiness()?.reason, undefined);
  for (const place of ['place-a', 'place-b']) {
    await letWork(place, 'acme:alice');
    for (const name of ['x0', 'x1'])
      await kubernetes.create(`/api/v1/namespaces/${place}/configmaps`, { metadata: { name } });
  }
  const token = stonegate.keystoneToken('alice');
  const ask = (query = '') => stonegate.ask(token, `${CONFIG_MAPS}${query}`);
  const list = async (query?: string): Promise<List> => JSON.parse((await ask(query)).body);
  await eventually(async () => (await list()).items.length === 4);
  const { continue: more = '' } = (await list('&limit=1')).metadata;
  t.not(more, '');
  await kubernetes.create('/api/v1/namespaces/place-a/configmaps', { metadata: { name: 'x2' } });
  for (const name of ['doomed', 'other'])
    await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name }, rules: [] });
  const roles: List = JSON.parse((await kubernetes.admit('GET', `${RBAC}/clusterroles`)).body);
  const follows = (count: number) =>
    eventually(async () => (await indexMetrics(app)).objects('clusterroles') === count);
  await follows(roles.items.length);
  await kubernetes.restartAfter(async (storage) => {
    await storage.delete('/registry/clusterroles/doomed');
    await storage.compact();
  });

  await t.test('D010 survives a restart and a compaction, and learns what changed meanwhile', async (t) => {
    await follows(roles.items.length - 1);
    const after = await indexMetrics(app);
    t.ok(after.lists('clusterroles', 'expired') > 0, 'kube-apiserver no longer knew the revision');
    t.equal(readiness()?.reason, undefined, 'it stays ready');
    await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'later' }, rules: [] });
    await follows(roles.items.length);
  });

  await t.test('D026 a page whose revision is compacted gets a 410, and a new list succeeds', async (t) => {
    await eventually(async () => (await ask()).status === 200);
    const next = await ask(`&limit=1&continue=${encodeURIComponent(more)}`);
    t.equal(next.status, 410, next.body);
    t.match(JSON.parse(next.body), { kind: 'Status', reason: 'Expired' });
    t.equal((await list()).items.length, 5);
  });
});

t.test(
  'D011 without the right, requests are forwarded unchanged until the operator grants it',
  { skip: missingKubernetes() },
  async (t) => {
    let whole: JsonObject | undefined;
    const { kubernetes, stonegate, newcomer } = await startKubernetesSite(t, {
      configuration,
      changed(object) {
        const { kind, rules } = object;
        if (kind !== 'ClusterRole' || !Array.isArray(rules)) return object;
        whole = object;
        return { ...object, rules: rules.filter((rule) => !JSON.stringify(rule).includes('rolebindings')) };
      },
    });
    const { app } = stonegate;
    await eventually(async () => (await indexMetrics(app)).failures('roles', 'refused') > 0);
    const problem = () => app.readiness().find(({ name }) => name === 'rbac index')?.reason;
    t.match(problem(), /roles, clusterroles, rolebindings, clusterrolebindings have not been listed yet/);
    const reply = await stonegate.ask(newcomer('nina'), '/api/v1/namespaces');
    t.equal(reply.status, 403, "the API server's own refusal");
    t.match(reply.body, /cannot list resource \\"namespaces\\"/);
    t.match(stonegate.logged.join('\n'), /apply the output of `stonegate manifests rbac --config FILE`/);
    if (!isObject(whole)) throw new Error('no role was printed');
    await apply(kubernetes, whole);
    await eventually(async () => (await indexMetrics(app)).synced);
    t.equal(problem(), undefined);
  },
);

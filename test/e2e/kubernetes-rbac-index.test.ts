/**
 * The RBAC index in front of a real kube-apiserver: after a restart, after a compaction, and without its
 * right.
 */
import t from 'tap';
import type { JsonObject } from '../support/apiserver/json.ts';
import { isObject } from '../support/apiserver/json.ts';
import { eventually } from '../support/eventually.ts';
import { indexMetrics } from '../support/index-metrics.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { RBAC } from '../support/kubernetes/rbac.ts';
import { apply, startKubernetesSite } from '../support/kubernetes/site.ts';

const configuration = { access: { index: true } };

t.test('D010 the RBAC index at a real kube-apiserver', { skip: missingKubernetes() }, async (t) => {
  const { kubernetes, stonegate } = await startKubernetesSite(t, { configuration });
  const { app } = stonegate;
  await eventually(async () => (await indexMetrics(app)).synced);
  const readiness = () => app.readiness().find(({ name }) => name === 'rbac index');
  t.equal(readiness()?.reason, undefined);

  await t.test('survives a restart and a compaction, and learns of what changed meanwhile', async (t) => {
    await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'doomed' }, rules: [] });
    await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'other' }, rules: [] });
    const listed: { items: unknown[] } = JSON.parse(
      (await kubernetes.admit('GET', `${RBAC}/clusterroles`)).body,
    );
    await eventually(async () => (await indexMetrics(app)).objects('clusterroles') === listed.items.length);
    await kubernetes.restartAfter(async (storage) => {
      await storage.delete('/registry/clusterroles/doomed');
      await storage.compact();
    });
    await eventually(
      async () => (await indexMetrics(app)).objects('clusterroles') === listed.items.length - 1,
    );
    const after = await indexMetrics(app);
    t.ok(after.lists('clusterroles', 'expired') > 0, 'kube-apiserver no longer knew the revision');
    t.equal(readiness()?.reason, undefined, 'it stays ready');
    await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'later' }, rules: [] });
    await eventually(async () => (await indexMetrics(app)).objects('clusterroles') === listed.items.length);
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

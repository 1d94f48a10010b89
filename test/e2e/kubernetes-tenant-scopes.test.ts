/**
 * What `tenant/LEVEL` of an access token covers on an ordinary cluster, whose API server knows no tenants:
 * the owner may do everything in all namespaces, the token only in those without another tenant's label.
 */
import t from 'tap';
import { parse } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { patched, posted } from '../support/https-client.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { startTokenSite } from '../support/kubernetes/token-site.ts';

const RBAC = { group: 'rbac.authorization.k8s.io', path: '/apis/rbac.authorization.k8s.io/v1' };
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const MAPS = '/api/v1/configmaps';
const mapsIn = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;
const labelled = (tenant: string) => ({ 'stonegate.dev/tenant': tenant });
/** Node adds no Content-Length to a DELETE. */
const DELETE = { method: 'DELETE', headers: { 'content-length': '0' } };

t.test('a token of the whole tenant, in shared mode', { skip: missingControllers() }, async (t) => {
  const { kubernetes, stonegate, testbed, make } = await startTokenSite(t, {
    configuration: { access: { index: true, authorizers: ['RBAC'], selfReviews: 'all' } },
  });
  const alice = testbed.keystoneToken('alice');
  const places = [{ name: 'ours', labels: labelled('acme') }, { name: 'plain' }];
  for (const metadata of [...places, { name: 'theirs', labels: labelled('globex') }]) {
    await kubernetes.create('/api/v1/namespaces', { metadata });
    await kubernetes.create(mapsIn(metadata.name), { metadata: { name: `in-${metadata.name}` } });
  }
  const bind = (name: string, role: string, subject: object) =>
    kubernetes.create(`${RBAC.path}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: RBAC.group, kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: RBAC.group, ...subject }],
    });
  await kubernetes.create(
    `${RBAC.path}/clusterroles`,
    parse(`
    metadata: {name: classes}
    rules: [{verbs: ['*'], apiGroups: [storage.k8s.io], resources: [storageclasses]}]`),
  );
  await bind('everything', 'cluster-admin', { kind: 'User', name: 'acme:alice' });
  await bind('classes', 'classes', { kind: 'Group', name: 'system:authenticated' });
  const { secret } = await make(alice, 'tenant/manage', '+rbac');
  const ask = (path: string, options = {}) => stonegate.ask(secret, path, options);
  await eventually(async () => (await ask(mapsIn('ours'))).status === 200);
  const mayI = async (attributes: object) => {
    const spec = { resourceAttributes: attributes };
    const review = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', spec };
    return JSON.parse((await ask(REVIEWS, posted(review))).body).status.allowed;
  };

  await t.test('lists have the namespaces of the tenant, and their objects', async (t) => {
    const namespaces = await ask('/api/v1/namespaces');
    t.match(namespaces, { status: 200, body: /"ours"/ });
    t.notMatch(namespaces.body, /theirs/);
    for (const query of ['', '?watch=1&timeoutSeconds=1']) {
      const maps = await ask(`${MAPS}${query}`);
      t.match(maps, { status: 200, body: /in-ours/ }, query);
      t.match(maps.body, /in-plain/, query);
      t.notMatch(maps.body, /in-theirs/, query);
    }
    const named = (path: string, name: string) => ask(`${path}?fieldSelector=metadata.name%3D${name}`);
    t.match(await named(MAPS, 'in-ours'), { status: 403, body: /the access token/ });
    t.match(await named('/api/v1/namespaces', 'ours'), { status: 200, body: /"ours"/ });
    t.match(JSON.parse((await named('/api/v1/namespaces', 'theirs')).body), { items: [] });
    t.match(await stonegate.ask(alice, MAPS), { status: 200, body: /in-theirs/ }, 'the owner sees all');
  });

  await t.test("nothing of another tenant's namespace, or of the cluster, is covered", async (t) => {
    const map = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'made' } };
    const refused = [
      [`${mapsIn('theirs')}/in-theirs`],
      [mapsIn('theirs'), posted(map)],
      ['/api/v1/namespaces/theirs'],
      ['/api/v1/namespaces/theirs', DELETE],
      ['/api/v1/nodes'],
      [`${RBAC.path}/clusterroles/admin`, DELETE],
      [MAPS, DELETE],
    ] as const;
    for (const [path, options] of refused) {
      const body = /covers only namespaces that carry no other tenant's label/;
      t.match(await ask(path, options), { status: 403, body }, `${options?.method ?? 'GET'} ${path}`);
    }
    t.match(await ask(mapsIn('ours'), posted(map)), { status: 201 });
    t.match(await ask('/api/v1/namespaces/ours'), { status: 200 });
  });

  await t.test('what everybody may read is covered, without what everybody may do besides', async (t) => {
    const classes = '/apis/storage.k8s.io/v1/storageclasses';
    t.match(await ask(classes), { status: 200 });
    t.match(await ask(`${classes}/fast`, DELETE), { status: 403 });
  });

  await t.test('reviews and access rules say the same', async (t) => {
    const maps = { verb: 'list', resource: 'configmaps' };
    t.equal(await mayI(maps), true, 'a filtered list is allowed');
    t.equal(await mayI({ ...maps, namespace: 'ours' }), true);
    t.equal(await mayI({ ...maps, namespace: 'theirs' }), false);
    t.equal(await mayI({ verb: 'delete', resource: 'namespaces', name: 'theirs', namespace: 'ours' }), false);
    t.equal(await mayI({ verb: 'list', resource: 'nodes', namespace: 'ours' }), false);
    const path = '/apis/stonegate.dev/v1alpha1/selfaccessrules?verb=delete&resource=configmaps';
    const { status } = JSON.parse((await ask(path)).body);
    t.match(status, { cluster: [], otherNamespaces: [] });
    const names = status.namespaces.flatMap((entry: { names: string[] }) => entry.names);
    t.ok(names.includes('ours') && names.includes('plain'));
    t.notOk(names.includes('theirs'));
  });

  await t.test('a namespace that gets the label of another tenant is not covered any more', async (t) => {
    await kubernetes.ask(
      kubernetes.admin,
      '/api/v1/namespaces/plain',
      patched({ metadata: { labels: labelled('globex') } }),
    );
    await eventually(async () => (await ask(mapsIn('plain'))).status === 403);
    t.notMatch((await ask(MAPS)).body, /in-plain/);
  });
});

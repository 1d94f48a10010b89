/**
 * Filtered lists and watches of namespaces, and of objects in all namespaces: for users whose roles are
 * looked up, for service accounts, and with kubectl in arktos mode.
 */
import t, { type Test } from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { startForKubectl, succeeds } from '../support/kubectl-users.ts';
import { rule } from '../support/policy-rule.ts';
import { startRoleSite } from '../support/role-site.ts';
import { type RunningStonegate, startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';

const MODES = ['arktos', 'shared'] satisfies Mode[];
const NAMESPACES = '/api/v1/namespaces';
const CONFIG_MAPS = '/api/v1/configmaps';
const ACCESS = { access: { index: true, authorizers: ['Node', 'RBAC'] } };
const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
const SEE = [rule('get', 'namespaces'), rule('get,list,watch', 'configmaps')];

type Site = Pick<RunningStonegate, 'ask' | 'open'>;

interface ConfigMapList {
  readonly metadata: { readonly continue?: string; readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly namespace: string; readonly name: string } }[];
}

async function list({ ask }: Site, token: string) {
  const { status, headers, body } = await ask(token, NAMESPACES);
  const { items = [], metadata }: { items?: { metadata: { name: string } }[]; metadata: object } =
    JSON.parse(body);
  const { resourceVersion } = Object(metadata);
  return {
    status,
    names: items.map(({ metadata: { name } }) => name),
    revision: String(resourceVersion),
    filtered: headers['stonegate-filtered'],
  };
}

/** @returns the events so far, as `ADDED web`, or `ERROR 410` */
async function watch(t: Test, { open }: Site, token: string, query: string): Promise<() => string[]> {
  const response = await open(token, `${NAMESPACES}?watch=1&${query}`);
  t.teardown(() => response.destroy());
  t.equal(response.headers['stonegate-filtered'], 'rbac');
  let text = '';
  response.on('data', (piece) => {
    text += String(piece);
  });
  return () =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const { type, object } = JSON.parse(line);
        return `${type} ${object.metadata?.name ?? object.code}`;
      });
}

for (const mode of MODES)
  t.test(`${mode}: an unscoped token with roles in three projects`, async (t) => {
    const site = await startRoleSite(t, { mode, configuration: ACCESS });
    const { keystone, directory, apiServer, erin, web, api } = site;
    const { seed } = apiServer;
    const db = directory.project('acme', 'db');
    const place = mode === 'arktos' ? { tenant: 'acme' } : {};
    for (const namespace of ['db', 'closed']) seed.namespace(namespace, place);
    seed.clusterRole('seers', SEE, place);
    for (const project of [web, api, db]) {
      const group = `group:keystone:project:${project.id}:role:member` as const;
      seed.roleBinding('seers', 'seers', [group], { ...place, namespace: project.name });
    }
    for (const project of [api, db]) directory.assign(erin, 'member', { project });
    for (const namespace of ['web', 'api', 'db'])
      for (const name of ['one', 'two']) seed.configMap(name, {}, { ...place, namespace });
    const token = keystone.issue(erin);
    // In shared mode the testbed gives every user of the tenant the namespace `acme`.
    const open = mode === 'shared' ? ['acme'] : [];
    const all = [...open, 'api', 'db', 'web'];
    await eventually(async () => (await list(site, token)).names.length === all.length);
    const objects = async (query: string): Promise<ConfigMapList> =>
      JSON.parse((await site.ask(token, `${CONFIG_MAPS}?${query}`)).body);
    const namesIn = ({ items }: ConfigMapList) =>
      items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);

    await t.test('D020 the list and the table contain the namespaces of the three projects', async (t) => {
      const { names, status, filtered } = await list(site, token);
      t.same([status, filtered], [200, 'rbac']);
      t.same(names, all);
      const table: { rows: { cells: string[] }[]; columnDefinitions: object[] } = JSON.parse(
        (await site.ask(token, NAMESPACES, { headers: TABLE })).body,
      );
      const { rows, columnDefinitions } = table;
      t.same(
        rows.map(({ cells }) => cells[0]),
        all,
      );
      t.equal(columnDefinitions.length, mode === 'arktos' ? 4 : 3, 'Arktos has a column for the tenant');
      if (mode === 'arktos') t.equal(rows[0]?.cells[3], 'acme');
    });

    await t.test(
      'D020 lists of all namespaces, also in pages, and their watches show objects of those three',
      async (t) => {
        const own = mode === 'shared' ? ['acme/settings'] : [];
        const found = [...own, 'api/one', 'api/two', 'db/one', 'db/two', 'web/one', 'web/two'];
        const whole = await objects('');
        t.same(namesIn(whole), found);
        const pages: string[] = [];
        let more: string | undefined = '';
        while (more !== undefined) {
          const page = await objects(`limit=4&continue=${more}`);
          pages.push(...namesIn(page));
          more = page.metadata.continue;
        }
        t.same(pages, found);
        const query = `watch=1&resourceVersion=${whole.metadata.resourceVersion}&allowWatchBookmarks=true`;
        const watching = await site.open(token, `${CONFIG_MAPS}?${query}`);
        t.teardown(() => watching.destroy());
        let text = '';
        watching.on('data', (piece) => {
          text += String(piece);
        });
        for (const namespace of ['closed', 'web', 'db']) seed.configMap('three', {}, { ...place, namespace });
        await eventually(() => text.match(/"type":"ADDED"/g)?.length === 2);
        t.notMatch(text, /BOOKMARK.*"name"/, 'a bookmark contains no object');
      },
    );

    await t.test(
      'D024 after a role is withdrawn no earlier watch or page continues, and lists lack its namespace',
      async (t) => {
        const { revision } = await list(site, token);
        const page = await objects('limit=1');
        const resumed = async (from: string) =>
          (await site.ask(token, `${NAMESPACES}?watch=1&timeoutSeconds=1&resourceVersion=${from}`)).body;
        t.notMatch(await resumed(revision), /ERROR/, 'with the same roles the watch resumes');
        directory.unassign(erin, 'member', { project: db });
        await eventually(async () => /"reason":"Expired","code":410/.test(await resumed(revision)));
        const again = await list(site, token);
        t.same(again.names, [...open, 'api', 'web']);
        t.notMatch(await resumed(again.revision), /ERROR| db"/);
        t.notMatch(namesIn(await objects('')).join(), 'db/');
        t.match(await objects(`limit=1&continue=${page.metadata.continue}`), {
          code: 410,
          reason: 'Expired',
        });
      },
    );
  });

for (const mode of MODES)
  t.test(`${mode}: a service account sees the namespaces in which it has a role`, async (t) => {
    const configuration = {
      ...ACCESS,
      authentication: { tokenReview: mode === 'shared' ? { tenant: 'robots' } : {} },
    };
    const stonegate = await startStonegate(t, { mode, configuration });
    const { seed } = stonegate.apiServer;
    const place = mode === 'arktos' ? { tenant: 'acme' } : {};
    for (const namespace of ['one', 'two', 'three']) seed.namespace(namespace, place);
    seed.clusterRole('seers', SEE, place);
    const robot = 'user:system:serviceaccount:one:robot';
    for (const namespace of ['one', 'two']) {
      seed.roleBinding('robots', 'seers', [robot], { ...place, namespace });
      seed.configMap('mine', {}, { ...place, namespace });
    }
    seed.configMap('not-mine', {}, { ...place, namespace: 'three' });
    // Another tenant has namespaces of the same names.
    if (mode === 'arktos')
      for (const namespace of ['one', 'three']) seed.namespace(namespace, { tenant: 'globex' });
    const token = seed.serviceAccountToken({ name: 'robot', namespace: 'one', ...place });
    await eventually(async () => (await list(stonegate, token)).names.length === 2);
    t.same((await list(stonegate, token)).names, ['one', 'two']);
    t.equal((await list(stonegate, token)).filtered, 'rbac');
    const events = await watch(t, stonegate, token, '');
    await eventually(() => events().length === 2);
    t.same(events(), ['ADDED one', 'ADDED two']);
    const everywhere = await stonegate.ask(token, '/api/v1/configmaps');
    t.equal(everywhere.headers['stonegate-filtered'], 'rbac');
    const { items }: { items: { metadata: { namespace: string } }[] } = JSON.parse(everywhere.body);
    t.same(
      items.map(({ metadata }) => metadata.namespace),
      ['one', 'two'],
    );
    const tenants = await stonegate.ask(token, '/api/v1/tenants');
    if (mode === 'arktos') t.match(tenants.json(), { items: [{ metadata: { name: 'acme' } }] });
    else t.equal(tenants.status, 403);
  });

const [, binary = findKubectls()[0]] = findKubectls();
if (binary === undefined) t.test('kubectl in arktos mode', { skip: NO_KUBECTL }, async () => {});
else
  t.test('kubectl in arktos mode', async (t) => {
    const users = await startForKubectl(t, { configuration: ACCESS });
    const { seed } = users.stonegate.apiServer;
    for (const namespace of ['one', 'two']) seed.namespace(namespace, { tenant: 'acme' });
    seed.clusterRole('seers', SEE, { tenant: 'acme' });
    seed.roleBinding('nina', 'seers', ['user:acme:nina'], { tenant: 'acme', namespace: 'one' });
    const nina = users.as(binary, users.newcomer('nina'));
    await eventually(async () => /^one /m.test((await nina.run(['get', 'namespaces'])).stdout));
    t.match(
      await succeeds(t, nina, 'get namespaces'),
      /^NAME +STATUS +AGE +TENANT\none +Active +\S+ +acme\n$/,
    );
    const rules = await succeeds(t, nina, 'auth can-i --list -n one');
    t.match(rules, /^configmaps +\[\] +\[\] +\[get list watch\]$/m, 'the RBAC index has the rules');
    t.notMatch(await succeeds(t, nina, 'auth can-i --list -n two'), /configmaps/);
    t.match(await succeeds(t, nina, 'auth can-i list namespaces'), /^yes/);
    const other = await nina.run(['auth', 'can-i', 'delete', 'namespaces']);
    t.match(other.stdout, /^no/);
  });

/**
 * Lists and watches of all namespaces by users whose roles are looked up, and in arktos mode, in front of the
 * stand-in API server. What a real kube-apiserver does is in `kubernetes-all-namespaces.test.ts`.
 */
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { startRoleSite } from '../support/role-site.ts';
import type { Mode } from '../support/testbed.ts';

const CONFIG_MAPS = '/api/v1/configmaps';
const ACCESS = { access: { index: true, authorizers: ['Node', 'RBAC'] } };
const JSON_BODY = { 'content-type': 'application/json' };

interface ConfigMapList {
  readonly metadata: { readonly continue?: string; readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly namespace: string; readonly name: string } }[];
}

for (const mode of ['arktos', 'shared'] satisfies Mode[])
  t.test(`${mode}: an unscoped token with roles in three projects`, async (t) => {
    const site = await startRoleSite(t, { mode, configuration: ACCESS });
    const { keystone, directory, apiServer, erin, api } = site;
    const db = directory.project('acme', 'db');
    const place = mode === 'arktos' ? { tenant: 'acme' } : {};
    for (const namespace of ['db', 'closed']) apiServer.seed.namespace(namespace, place);
    const group = `group:keystone:project:${db.id}:role:member` as const;
    apiServer.seed.roleBinding('of-project', 'configmaps', [group], { ...place, namespace: 'db' });
    for (const project of [api, db]) directory.assign(erin, 'member', { project });
    const token = keystone.issue(erin);
    for (const namespace of ['web', 'api', 'db'])
      for (const name of ['one', 'two'])
        await eventually(async () => {
          const body = JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name } });
          const path = `/api/v1/namespaces/${namespace}/configmaps`;
          const { status } = await site.ask(token, path, { method: 'POST', headers: JSON_BODY, body });
          return status === 201 || status === 409;
        });
    // In shared mode the testbed gives every user of the tenant the namespace `acme`.
    const open = mode === 'shared' ? ['acme/settings'] : [];
    const all = [...open, 'api/one', 'api/two', 'db/one', 'db/two', 'web/one', 'web/two'];

    async function list(query: string): Promise<ConfigMapList> {
      const { status, body } = await site.ask(token, `${CONFIG_MAPS}?${query}`);
      if (status !== 200) throw new Error(`${status}: ${body}`);
      return JSON.parse(body);
    }
    const namesIn = ({ items }: ConfigMapList) =>
      items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);

    await t.test(
      'D020: the list has the namespaces of the three projects, each with its groups',
      async (t) => {
        await eventually(async () => namesIn(await list('')).length === all.length);
        t.same(namesIn(await list('')), all);
        const pages: string[] = [];
        let more: string | undefined = '';
        while (more !== undefined) {
          const page = await list(`limit=4&continue=${more}`);
          pages.push(...namesIn(page));
          more = page.metadata.continue;
        }
        t.same(pages, all);
      },
    );

    await t.test('the watch has their events, and none of another namespace', async (t) => {
      const { metadata } = await list('');
      const watching = await site.open(
        token,
        `${CONFIG_MAPS}?watch=1&resourceVersion=${metadata.resourceVersion}&allowWatchBookmarks=true`,
      );
      let text = '';
      watching.on('data', (piece) => {
        text += String(piece);
      });
      for (const namespace of ['web', 'db'])
        await site.ask(token, `/api/v1/namespaces/${namespace}/configmaps`, {
          method: 'POST',
          headers: JSON_BODY,
          body: '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"three"}}',
        });
      await eventually(() => text.match(/"type":"ADDED"/g)?.length === 2);
      t.notMatch(text, /BOOKMARK.*"name"/, 'a bookmark holds no object');
      watching.destroy();
    });

    await t.test('D024: a role that is withdrawn takes its namespace out of the list', async (t) => {
      const { metadata } = await list('limit=1');
      directory.unassign(erin, 'member', { project: db });
      await eventually(async () => !namesIn(await list('')).some((name) => name.startsWith('db/')));
      const next = await site.ask(token, `${CONFIG_MAPS}?limit=1&continue=${metadata.continue}`);
      t.match([next.status, JSON.parse(next.body).reason], [410, 'Expired']);
    });

    await t.test('D021: a user without roles gets nothing of the projects', async (t) => {
      const frank = keystone.issue(directory.user('acme', 'frank'));
      const { status, body } = await site.ask(frank, CONFIG_MAPS);
      t.equal(status, mode === 'arktos' ? 403 : 200);
      t.notMatch(body, /"namespace":"(?:web|api|db)"/);
    });
  });

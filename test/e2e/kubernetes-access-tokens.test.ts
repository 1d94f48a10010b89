/** Access tokens at a real kube-apiserver: what they allow, what they do not, and when they end. */
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { patched, posted } from '../support/https-client.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { startTokenSite } from '../support/kubernetes/token-site.ts';
import { madeToken } from '../support/token-client.ts';

const ACCESS_TOKENS = '/apis/stonegate.dev/v1alpha1/accesstokens';
const PODS = '/api/v1/namespaces/web/pods';

t.test('access tokens', { skip: missingControllers() }, async (t) => {
  const site = await startTokenSite(t);
  const { stonegate, testbed } = site;
  const alice = testbed.keystoneToken('alice');
  await site.letWork('web', 'acme:alice');
  await site.letWork('lab', 'acme:alice');

  await t.test('D407 the API server refuses what the owner may not do, whatever the scope', async (t) => {
    const { secret } = await site.make(alice, 'session', '+rbac', '+secrets');
    const nodes = await stonegate.ask(secret, '/api/v1/nodes');
    t.match(nodes, {
      status: 403,
      body: /cannot list resource \\"nodes\\" in API group \\"\\" at the cluster scope/,
    });
    t.notMatch(nodes.body, /access token/);
  });

  await t.test('a dry run is refused, and neither creates nor revokes a token', async (t) => {
    const { name, secret } = await site.make(alice, 'namespace/web/read');
    const dry = '{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}';
    // Node adds no Content-Length to a DELETE.
    const headers = { 'content-type': 'application/json', 'content-length': String(dry.length) };
    const deletion = { method: 'DELETE', headers, body: dry };
    t.match(await stonegate.ask(alice, `${ACCESS_TOKENS}/${name}`, deletion), { status: 400 });
    const creation = posted(
      '{"kind":"AccessToken","apiVersion":"stonegate.dev/v1alpha1","spec":{"scopes":["read"],"expirationSeconds":60}}',
    );
    t.match(await stonegate.ask(alice, `${ACCESS_TOKENS}?dryRun=All`, creation), { status: 400 });
    t.match(await stonegate.ask(secret, PODS), { status: 200 });
  });

  await t.test('a delegated credential cannot see, create or change tokens of its user', async (t) => {
    const { directory, issue } = testbed.keystone;
    const [user, mallory] = [directory.user('acme', 'alice'), directory.user('acme', 'mallory')];
    const project = directory.project('acme', 'web');
    const { name } = await site.make(alice, 'session', '+secrets');
    const applicationCredential = directory.applicationCredential(user, project);
    const trust = directory.trust(user, mallory, project, { roles: ['member'], impersonation: true });
    for (const delegation of [{ applicationCredential }, { trust }]) {
      const delegated = issue(user, { project }, delegation);
      t.match(await stonegate.ask(delegated, '/apis/stonegate.dev/v1alpha1/selfidentity'), { status: 200 });
      t.match(await site.post(delegated, { scopes: ['read'] }), { status: 403, body: /OwnerUnusable/ });
      t.match(await site.rotate(delegated, { name }), { status: 404 });
      t.match(await site.revoke(delegated, name), { status: 404 });
      t.same(await site.list(delegated), []);
    }
  });

  await t.test('a token cannot rotate a token that outlives it', async (t) => {
    const scopes = ['tenant/edit', '+tokens'];
    const long = madeToken(await site.post(alice, { scopes: ['tenant/edit'], expirationSeconds: 86_400 }));
    const short = madeToken(await site.post(alice, { scopes, expirationSeconds: 3_600 }));
    const rotate = (name: string) => site.rotate(short.secret, { name });
    await eventually(async () => (await rotate(long.name)).status === 403);
    t.match(await rotate(long.name), { body: /that end no later/ });
    t.match(await rotate(short.name), { status: 201 });
  });

  await t.test('a token that may only patch cannot create an object by apply', async (t) => {
    const rule = { apiGroups: [''], resources: ['configmaps'], namespaces: ['web'] };
    const { secret } = madeToken(await site.post(alice, { rules: [{ ...rule, verbs: ['patch'] }] }));
    const apply = (credential: string, name: string) =>
      stonegate.ask(credential, `/api/v1/namespaces/web/configmaps/${name}?fieldManager=ci`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name } }),
      });
    t.match(await apply(secret, 'new'), { status: 403, body: /cannot create resource/ });
    const merged = await stonegate.ask(
      secret,
      '/api/v1/namespaces/web/configmaps/new',
      patched('{"data":{}}'),
    );
    t.match(merged, { status: 404 });
    const both = madeToken(await site.post(alice, { rules: [{ ...rule, verbs: ['patch', 'create'] }] }));
    await eventually(async () => (await apply(both.secret, 'new')).status === 201);
  });
});

/**
 * Stonegate's own API group in front of a real kube-apiserver: discovery, OpenAPI and kubectl treat it like
 * any other group of the cluster.
 */
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { whoCan } from '../../src/cli/who-can.ts';
import { createKubectl, findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import type { Reply } from '../support/https-client.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind, grant } from '../support/kubernetes/rbac.ts';
import { isAllowed, type KubernetesSite, startKubernetesSite } from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';
import { printedBy } from '../support/printed-io.ts';

const binaries = findAllKubectls();
const missing = missingKubernetes() || (binaries.length === 0 && NO_KUBECTL);
const OWN = 'stonegate.dev';
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

t.test('Stonegate’s own API at a kube-apiserver', { skip: missing }, async (t) => {
  const site = await startKubernetesSite(t, { configuration: { access: { index: true } } });
  const { kubernetes, stonegate } = site;
  const token = stonegate.keystoneToken('alice');
  const credential = await site.direct(token);
  const both = async (path: string, headers: Readonly<Record<string, string>> = {}) => ({
    through: await stonegate.ask(token, path, { headers }),
    direct: await kubernetes.ask(credential, path, { headers }),
  });
  const tagOf = ({ headers }: Reply) => headers.etag ?? '';

  await t.test('the list of groups is that of the API server plus Stonegate’s own', async (t) => {
    const { through, direct } = await both('/apis');
    const theirs = JSON.parse(direct.body);
    const ours = JSON.parse(through.body);
    t.equal(ours.groups.at(-1).name, OWN);
    t.same({ ...ours, groups: ours.groups.slice(0, -1) }, theirs);
    t.equal(through.headers['content-type'], direct.headers['content-type']);
    const again = await stonegate.ask(token, '/apis', { headers: { 'if-none-match': tagOf(through) } });
    t.same([again.status, again.body], [304, '']);
  });

  await t.test('aggregated discovery is that of the API server plus Stonegate’s own group', async (t) => {
    const { through, direct } = await both('/apis', { accept: AGGREGATED });
    const theirs = JSON.parse(direct.body);
    const ours = JSON.parse(through.body);
    t.equal(ours.items.at(-1).metadata.name, OWN);
    t.same({ ...ours, items: ours.items.slice(0, -1) }, theirs);
    t.equal(through.headers['content-type'], direct.headers['content-type']);
    t.not(tagOf(through), tagOf(direct), 'another document has another tag');
    const headers = { accept: AGGREGATED, 'if-none-match': tagOf(through) };
    t.equal((await stonegate.ask(token, '/apis', { headers })).status, 304);
    const stale = { accept: AGGREGATED, 'if-none-match': tagOf(direct) };
    t.equal((await stonegate.ask(token, '/apis', { headers: stale })).status, 200);
  });

  await t.test('OpenAPI v3 lists the group and serves its document', async (t) => {
    const { through, direct } = await both('/openapi/v3');
    const { [`apis/${OWN}/v1alpha1`]: own, ...others } = JSON.parse(through.body).paths;
    t.same(others, JSON.parse(direct.body).paths);
    const document = await stonegate.ask(token, own.serverRelativeURL);
    t.match(JSON.parse(document.body), { openapi: '3.0.0' });
  });

  await t.test('docs/reference/api.md has every kind', async (t) => {
    const { through } = await both(`/apis/${OWN}/v1alpha1`);
    const { resources }: { resources: { kind: string }[] } = JSON.parse(through.body);
    const kinds = resources.map(({ kind }) => kind).sort();
    const page = readFileSync('docs/reference/api.md', 'utf8').split('## `tenancy')[0] ?? '';
    // The configuration of this site has no quotas, tokens or members.
    kinds.push('TenantQuota', 'Member', 'PeopleSearch', 'Team', 'Invitation', 'InvitationAcceptance');
    kinds.push('AccessToken', 'AccessTokenRotation');
    t.same([...page.matchAll(/^### (\w+)$/gm)].map(([, kind]) => kind).sort(), kinds.sort());
  });

  for (const binary of binaries)
    await t.test(`${binary.split('/').at(-1)}`, async (t) => {
      const kubectl = createKubectl(t, binary, {
        server: stonegate.url,
        ca: stonegate.authority.cert,
        token,
      });
      const resources = await kubectl.run(`api-resources --api-group=${OWN} --no-headers`);
      t.equal(resources.code, 0, resources.stderr);
      for (const row of [
        /^explanations +stonegate.dev\/v1alpha1 +false +Explanation$/m,
        /^localresourceaccessreviews +stonegate.dev\/v1alpha1 +true +LocalResourceAccessReview$/m,
        /^resourceaccessreviews +stonegate.dev\/v1alpha1 +false +ResourceAccessReview$/m,
      ])
        t.match(resources.stdout, row);
      for (const [field, shown] of [
        ['resourceaccessreviews.spec', /verb\s+<string>/],
        ['explanations.status.stages', /decision\s+<string>/],
      ] as const) {
        const explained = await kubectl.run(['explain', field]);
        t.equal(explained.code, 0, explained.stderr);
        t.match(explained.stdout, shown);
      }
      const raw = await kubectl.run('get --raw /apis/stonegate.dev/v1alpha1/selfidentity');
      t.match(JSON.parse(raw.stdout), { status: { user: { username: 'acme:alice' } } });
    });

  await t.test('who-can reviews', (t) => askWhoCan(t, site));
});

const REVIEW = {
  kind: 'LocalResourceAccessReview',
  apiVersion: 'stonegate.dev/v1alpha1',
  metadata: { namespace: 'shop' },
  spec: { verb: 'delete', resource: 'secrets' },
};

async function askWhoCan(t: Test, { kubernetes, stonegate }: KubernetesSite) {
  await kubernetes.create('/api/v1/namespaces', { metadata: { name: 'shop' } });
  await bind(kubernetes, {
    name: 'team',
    namespace: 'shop',
    role: 'cluster-admin',
    subjects: ['user:acme:bob', 'user:globex:gina'],
  });
  const token = stonegate.keystoneToken('alice');
  const address = { server: stonegate.url, ca: stonegate.authority.cert, token };

  await grant(kubernetes, {
    name: 'asks-who-can',
    subjects: ['user:acme:alice'],
    rules: [rule('create', 'resourceaccessreviews,localresourceaccessreviews', 'stonegate.dev')],
  });
  await eventually(async () =>
    isAllowed(kubernetes, {
      user: 'acme:alice',
      resourceAttributes: { verb: 'create', group: 'stonegate.dev', resource: 'resourceaccessreviews' },
    }),
  );

  for (const binary of binaries)
    await t.test(`${binary.split('/').at(-1)} creates reviews`, async (t) => {
      const kubectl = createKubectl(t, binary, address);
      const local = await kubectl.run('create -f - -o json', JSON.stringify(REVIEW));
      t.equal(local.code, 0, local.stderr);
      const { status } = JSON.parse(local.stdout);
      t.ok(status.users.includes('acme:bob'));
      t.equal(status.otherTenants, 1, 'the user of another tenant is counted, not named');
      t.notMatch(local.stdout, /gina/);
      const yaml =
        'kind: ResourceAccessReview\napiVersion: stonegate.dev/v1alpha1\nspec: {verb: get, path: /healthz}\n';
      const cluster = await kubectl.run('create -f - -o yaml', yaml);
      t.equal(cluster.code, 0, cluster.stderr);
      t.match(cluster.stdout, /- system:masters\n/);
      const wrong = yaml.replace('verb:', 'verbs:');
      t.not((await kubectl.run('create -f -', wrong)).code, 0, 'an unknown field is an error');
    });

  await t.test('stonegate who-can prints the result as a table', async (t) => {
    const files = t.testdir({ 'ca.crt': stonegate.authority.cert, token });
    const words = [
      '--server',
      stonegate.url,
      '--ca-file',
      `${files}/ca.crt`,
      '--token-file',
      `${files}/token`,
    ];
    const run = (...argv: readonly string[]) => printedBy(whoCan, [...argv, ...words], {});
    const secrets = await run('delete', 'secret', '-n', 'shop');
    t.equal(secrets.code, 0, secrets.stderr);
    t.match(secrets.stdout, /^User +acme:bob +namespace shop +a binding that you may not list$/m);
    t.match(secrets.stdout, /^ServiceAccount +stonegate\/stonegate +everywhere +may act as any user/m);
    t.match(secrets.stderr, /subjects of other tenants that can do it too: 1/);
    t.match(await run('get', 'deploy.apps/site', '-A', '-o', 'json'), {
      code: 0,
      stdout: /"resource": "deployments"/,
    });
    t.match(await run('get', '/healthz'), { code: 0, stdout: /system:masters/ });
    t.match(await run('view', 'project/x', '-n', 'shop'), {
      code: 0,
      stderr: /no resource is known as "project"/,
    });
    t.match(await run('list', 'nodes'), { code: 0 });
    await grant(kubernetes, {
      name: 'lister',
      namespace: 'shop',
      subjects: ['user:acme:alice'],
      rules: [rule('list', 'rolebindings', 'rbac.authorization.k8s.io')],
    });
    const named = /^User +acme:bob +namespace shop +RoleBinding team → ClusterRole cluster-admin$/m;
    await eventually(async () => named.test((await run('delete', 'secret', '-n', 'shop')).stdout));
    t.match(await run('get', 'secrets', '-n', 'shop', '-A'), { code: 2 });
  });
}

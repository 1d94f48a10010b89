/** What kubectl shows users about themselves, about the cluster and about a refusal. */
import t, { type Test } from 'tap';
import { type Kubectl, kubectlsOrSkip } from '../support/apiserver/kubectl.ts';
import { fails, type KubectlUsers, startForKubectl, succeeds } from '../support/kubectl-users.ts';
import { isForClient } from '../support/own-questions.ts';

/** The first minor version of kubectl with `auth whoami`. */
const FIRST_WITH_WHOAMI = 27;

const binaries = kubectlsOrSkip(t, 'kubectl and identities');
for (const binary of binaries)
  t.test(`${binary.split('/').at(-1)} in arktos mode`, async (t) => {
    const everybody = await startForKubectl(t);
    const { stonegate, as, newcomer } = everybody;
    const alice = as(binary, stonegate.keystoneToken('alice'));
    const bob = as(binary, stonegate.keystoneToken('bob'));
    const carol = as(binary, await stonegate.provider.idToken('carol'));
    const nina = as(binary, newcomer('nina'));

    await t.test('C131 C132 auth can-i tells the truth', (t) => mayI(t, alice, nina));
    await t.test('auth whoami names the user, the tenant and the groups', (t) =>
      whoAmI(t, { alice, bob, carol, nina }),
    );
    await t.test('api-resources shows what a tenant can have, and nothing else', (t) => resources(t, alice));
    await t.test('only the tenant of a custom resource can see it', (t) =>
      customResources(t, everybody, alice, bob),
    );
    await t.test('explain and version work', (t) => explain(t, carol));
    await t.test('discovery is requested once: the next command requests only the object', (t) =>
      cached(t, everybody, carol),
    );
    await t.test('refusals tell the user what to do', (t) => refusals(t, alice, nina));
    await t.test('C254 an unknown token gets an error that says so', (t) =>
      unknown(t, as(binary, `gAAAAA${'x'.repeat(178)}`)),
    );
    await t.test('a backend that is down is reported at once, after one request', (t) =>
      down(t, everybody, alice),
    );
  });

async function mayI(t: Test, alice: Kubectl, nina: Kubectl) {
  const mayI = async (kubectl: Kubectl, ...words: string[]) =>
    (await kubectl.run(['auth', 'can-i', ...words])).stdout.trim();
  t.equal(await mayI(alice, 'list', 'pods'), 'yes');
  t.equal(await mayI(alice, 'create', 'pods/exec', '-n', 'elsewhere'), 'yes');
  t.equal(await mayI(alice, 'list', 'nodes'), 'no', 'not even with all rights in a tenant');
  t.equal(await mayI(alice, 'get', '/version'), 'yes');
  t.equal(await mayI(alice, 'get', '/metrics'), 'no');
  t.equal(await mayI(nina, 'list', 'pods'), 'no', 'although she has no right to create reviews');
  t.equal(await mayI(nina, 'list', 'pods', '-A'), 'no');
  t.equal((await alice.run('auth can-i list pods --quiet')).code, 0);
  t.equal((await nina.run(['auth', 'can-i', 'list', 'pods', '--quiet'])).code, 1);
  const list = await succeeds(t, alice, 'auth can-i --list');
  t.match(list, /^\*\.\* .*\[\*\]$/m, 'the API server’s rules');
  t.match(
    list,
    /^selfsubjectreviews\.authentication\.k8s\.io .*\[create\]$/m,
    'and those that Stonegate grants',
  );
  t.match(await nina.run(['auth', 'can-i', '--list']), {
    code: 0,
    stdout: /selfsubjectaccessreviews\.authorization\.k8s\.io/,
    stderr: /the list may be incomplete/,
  });
}

async function whoAmI(t: Test, users: Record<'alice' | 'bob' | 'carol' | 'nina', Kubectl>) {
  if (users.alice.minor < FIRST_WITH_WHOAMI) {
    t.match(
      await fails(t, users.alice, ['auth', 'whoami']),
      /unknown/,
      'this kubectl does not have the command',
    );
    return;
  }
  const who = (kubectl: Kubectl) => succeeds(t, kubectl, 'auth whoami');
  const alice = await who(users.alice);
  t.match(alice, /^Username +acme:alice$/m);
  t.match(alice, /^Groups +\[keystone:project:\S+ keystone:project:\S+:role:member system:authenticated\]$/m);
  t.match(await who(users.bob), /^Username +globex:bob$/m);
  const carol = await who(users.carol);
  t.match(carol, /^Username +acme:oidc:carol@acme\.example$/m);
  t.match(carol, /^Groups +\[oidc:developers system:authenticated\]$/m);
  t.match(await who(users.nina), /^Username +acme:nina$/m, 'also without any binding');
}

async function resources(t: Test, alice: Kubectl) {
  const shown = (await succeeds(t, alice, 'api-resources -o name')).split('\n');
  for (const name of ['configmaps', 'pods', 'namespaces', 'roles.rbac.authorization.k8s.io'])
    t.ok(shown.includes(name), name);
  for (const name of ['nodes', 'tenants', 'priorityclasses.scheduling.k8s.io', 'csidrivers.storage.k8s.io'])
    t.notOk(shown.includes(name), `no ${name}`);
  t.match(await fails(t, alice, ['get', 'nodes']), /doesn't have a resource type "nodes"/);
}

async function customResources(t: Test, { stonegate }: KubectlUsers, alice: Kubectl, bob: Kubectl) {
  const gadget = { group: 'example.com', plural: 'gadgets', kind: 'Gadget', scope: 'Tenant' } as const;
  stonegate.apiServer.seed.customResource(gadget, { tenant: 'acme' });
  // Otherwise the earlier documents would be served for some more seconds.
  await stonegate.app.reload();
  const manifest = { apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name: 'one' } };
  t.match(await succeeds(t, alice, 'create -f -', JSON.stringify(manifest)), /gadget.* created/);
  t.match(await succeeds(t, alice, 'get gadgets -o name'), 'gadget.example.com/one');
  t.match(await fails(t, bob, ['get', 'gadgets']), /doesn't have a resource type "gadgets"/);
}

async function explain(t: Test, carol: Kubectl) {
  t.match(await succeeds(t, carol, 'explain pods'), /KIND: +Pod/);
  t.match((await carol.run(['version'])).stdout, /Server Version: .*v0\.0\.0-master/);
}

async function cached(t: Test, { stonegate }: KubectlUsers, carol: Kubectl) {
  await succeeds(t, carol, 'get pods');
  const before = stonegate.apiServer.requests.length;
  await succeeds(t, carol, 'get pods web');
  const asked = stonegate.apiServer.requests.slice(before).filter(isForClient);
  t.strictSame(
    asked.map(({ url }) => url),
    ['/api/v1/tenants/acme/namespaces/default/pods/web'],
  );
}

async function refusals(t: Test, alice: Kubectl, nina: Kubectl) {
  const forbidden = 'Error from server \\(Forbidden\\): ';
  const refused = async (kubectl: Kubectl, words: readonly string[], expected: string) => {
    t.match(await fails(t, kubectl, words), new RegExp(`^${forbidden}${expected}$`, 'm'));
  };
  await refused(
    alice,
    ['get', '--raw', '/api/v1/tenants/globex/namespaces/default/pods'],
    'pods is forbidden: User "acme:alice" cannot list resource "pods" in API group "" in the namespace "default" of the tenant "globex"',
  );
  await refused(
    alice,
    ['get', 'pods', '--as', 'acme:bob', '--as-group', 'system:masters'],
    'impersonation is refused: the group "system:masters" is reserved',
  );
  await refused(
    nina,
    ['get', 'pods'],
    'pods is forbidden: User "acme:nina" cannot list resource "pods" in API group "" in the namespace "default"',
  );
  t.match(
    await fails(t, alice, ['get', 'pod', 'none']),
    'Error from server (NotFound): pods "none" not found',
  );
}

async function unknown(t: Test, invalid: Kubectl) {
  t.match(await fails(t, invalid, ['get', 'pods']), 'You must be logged in to the server');
  t.match(
    await fails(t, invalid, ['get', '--raw', '/api']),
    'You must be logged in to the server (Unauthorized)',
  );
}

async function down(t: Test, { stonegate }: KubectlUsers, alice: Kubectl) {
  const { keystone, logged } = stonegate;
  const tried = (code: string) => logged.filter((line) => line.includes(`"code":"${code}"`)).length;
  const fresh = stonegate.keystoneToken('alice');
  await keystone.down();
  t.match(
    await fails(t, alice, ['get', 'pods', '--token', fresh]),
    /^Error from server \(ServiceUnavailable\): .*Keystone/m,
  );
  t.equal(tried('KeystoneUnavailable'), 1);
  await succeeds(t, alice, 'get pods');
  await keystone.listen();
  await succeeds(t, alice, ['get', 'pods', '--token', fresh]);
}

/**
 * kubectl through Stonegate on an ordinary Kubernetes cluster: tenants are namespaces, groups and bindings
 * there.
 */
import t, { type Test } from 'tap';
import { findKubectls, type Kubectl, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import {
  fails,
  type KubectlUsers,
  prints,
  startForKubectl,
  stop,
  succeeds,
} from '../support/kubectl-users.ts';

/** The first minor version of kubectl with `auth whoami`. */
const FIRST_WITH_WHOAMI = 27;

const binaries = findKubectls();
if (binaries.length === 0) t.test('kubectl in shared mode', { skip: NO_KUBECTL }, async () => {});
for (const binary of binaries)
  t.test(`${binary.split('/').at(-1)} in shared mode`, async (t) => {
    const everybody = await startForKubectl(t, { mode: 'shared' });
    const { stonegate, as } = everybody;
    stonegate.log.append('first line');
    const alice = as(binary, stonegate.keystoneToken('alice'));
    const bob = as(binary, stonegate.keystoneToken('bob'));
    const carol = as(binary, await stonegate.provider.idToken('carol'));

    await t.test('users work in their tenant’s namespace', (t) => work(t, everybody, alice, carol));
    await t.test('another tenant’s namespace is refused in Kubernetes’ own words', (t) =>
      refused(t, alice, bob),
    );
    await t.test('auth can-i and whoami tell the truth', (t) => oneself(t, alice, carol));
    await t.test('exec, logs and port-forward reach a pod in the user’s name', (t) =>
      pod(t, everybody, alice, carol),
    );
  });

async function work(
  t: Test,
  { stonegate, next }: KubectlUsers,
  alice: Kubectl,
  carol: Kubectl,
): Promise<void> {
  t.match(await succeeds(t, alice, ['-n', 'acme', 'get', 'pods']), /NAME +READY +STATUS.*\nweb /);
  const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'cm' }, data: { by: 'alice' } };
  t.match(await succeeds(t, alice, ['-n', 'acme', 'apply', '-f', '-'], JSON.stringify(manifest)), 'created');
  const by = ['-n', 'acme', 'get', 'cm', 'cm', '-o', 'jsonpath={.data.by}'];
  t.equal(await succeeds(t, carol, by), 'alice', 'the issuer makes no difference');
  const arrived = next(({ url }) => url.includes('watch='));
  const watching = alice.start(['-n', 'acme', 'get', 'cm', '-w', '--watch-only', '-o', 'name']);
  const { url, user } = await arrived;
  t.match(url, /^\/api\/v1\/namespaces\/acme\/configmaps\?/, 'paths stay as they are');
  t.match(user, { username: 'acme:alice', extra: { 'stonegate.dev/tenant': ['acme'] } });
  const seen = prints(watching, /configmap\/seen/);
  stonegate.apiServer.seed.configMap('seen', {}, { namespace: 'acme' });
  await seen;
  await stop(watching);
  t.match(await succeeds(t, alice, ['-n', 'acme', 'delete', 'cm', 'cm', 'seen']), 'deleted');
  t.match(
    await succeeds(t, alice, ['api-resources', '-o', 'name']),
    /^nodes$/m,
    'discovery is the cluster’s',
  );
}

async function refused(t: Test, alice: Kubectl, bob: Kubectl): Promise<void> {
  t.match(
    await fails(t, alice, ['-n', 'globex', 'get', 'cm', 'settings']),
    /configmaps "settings" is forbidden: User "acme:alice" cannot get resource "configmaps" in API group "" in the namespace "globex"/,
  );
  t.match(await fails(t, bob, ['-n', 'acme', 'exec', 'web', '--', 'true']), /User "globex:bob" cannot/);
  t.match(await fails(t, alice, ['get', 'pods', '-A']), /at the cluster scope/);
  t.match(
    await fails(t, alice, ['get', 'pods', '--as', 'acme:bob']),
    /users "acme:bob" is forbidden: User "acme:alice" cannot impersonate resource "users"/,
  );
}

async function oneself(t: Test, alice: Kubectl, carol: Kubectl): Promise<void> {
  const mayI = async (...words: string[]): Promise<string> =>
    (await alice.run(['auth', 'can-i', ...words])).stdout.trim();
  t.equal(await mayI('list', 'pods', '-n', 'acme'), 'yes');
  t.equal(await mayI('list', 'pods', '-n', 'globex'), 'no');
  t.equal(await mayI('list', 'nodes'), 'no');
  t.match(await succeeds(t, alice, ['-n', 'acme', 'auth', 'can-i', '--list']), /^\*\.\* .*\[\*\]$/m);
  if (carol.minor < FIRST_WITH_WHOAMI) return;
  const who = await succeeds(t, carol, ['auth', 'whoami']);
  t.match(who, /^Username +oidc:carol@acme\.example$/m);
  t.match(who, /^Groups +\[oidc:developers stonegate:tenant:acme system:authenticated\]$/m);
}

async function pod(t: Test, { next }: KubectlUsers, alice: Kubectl, carol: Kubectl): Promise<void> {
  const arrived = next(({ url }) => url.startsWith('/api/v1/namespaces/acme/pods/web/exec?'));
  t.equal(await succeeds(t, carol, ['-n', 'acme', 'exec', '-i', 'web', '--', 'cat'], 'typed'), 'typed');
  t.equal((await arrived).user?.username, 'oidc:carol@acme.example');
  t.equal(await succeeds(t, alice, ['-n', 'acme', 'logs', 'web', '--tail=1']), 'first line\n');
  const forwarding = alice.start(['-n', 'acme', 'port-forward', 'pod/web', ':80']);
  const [, port] = await prints(forwarding, /127\.0\.0\.1:(\d+)/);
  const answer = await fetch(`http://127.0.0.1:${port}/hello`);
  t.equal(await answer.text(), 'GET /hello answered by web\n');
  await stop(forwarding);
}

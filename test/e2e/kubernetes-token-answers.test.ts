/**
 * Responses of Stonegate itself in front of a real kube-apiserver are about the access token, not about its
 * owner, and kubectl shows them.
 */
import t, { type Test } from 'tap';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { succeeds } from '../support/kubectl-users.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { startTokenSite } from '../support/kubernetes/token-site.ts';

const [binary = ''] = findKubectls();

t.test(
  'kubectl with an access token',
  { skip: missingControllers() || (binary === '' && NO_KUBECTL) },
  async (t) => {
    const { kubernetes, stonegate, testbed, letWork, make } = await startTokenSite(t);
    const alice = testbed.keystoneToken('alice');
    await letWork('web', 'acme:alice');
    await letWork('lab', 'acme:alice');
    for (const place of ['web', 'lab'])
      await kubernetes.create(`/api/v1/namespaces/${place}/configmaps`, { metadata: { name: 'settings' } });
    const kubectlWith = async (t: Test, ...scopes: readonly string[]) => {
      const { secret } = await make(alice, ...scopes);
      const kubectl = createKubectl(t, binary, {
        server: stonegate.url,
        ca: testbed.authority.cert,
        token: secret,
      });
      await eventually(async () => (await kubectl.run('auth whoami')).code === 0);
      return kubectl;
    };

    await t.test('lists show only the namespaces of its scopes', async (t) => {
      const kubectl = await kubectlWith(t, 'namespace/web/read');
      t.equal((await succeeds(t, kubectl, 'get namespaces -o name')).trim(), 'namespace/web');
      const mapsIn = ['get', 'configmaps', '-A', '-o', 'jsonpath={.items[*].metadata.namespace}'];
      t.same(new Set((await succeeds(t, kubectl, mapsIn)).split(' ')), new Set(['web']));
      const { code, stderr } = await kubectl.run('get secrets -A');
      t.equal(code, 1);
      t.match(stderr, /its scopes are namespace\/web\/read/);
    });

    await t.test('D419 auth can-i shows what the token may do', async (t) => {
      const kubectl = await kubectlWith(t, 'namespace/web/read');
      const mayI = async (...words: readonly string[]) =>
        (await kubectl.run(['auth', 'can-i', ...words])).stdout.trim();
      t.match(await mayI('get', 'pods', '-n', 'web'), /^yes/);
      t.match(await mayI('list', 'namespaces'), /^yes/);
      t.match(await mayI('get', 'pods', '-n', 'lab'), /^no .*its scopes are namespace\/web\/read/);
      t.match(await mayI('delete', 'pods', '-n', 'web'), /^no/);
      t.match(await mayI('get', 'secrets', '-n', 'web'), /^no/);
      const rules = await succeeds(t, kubectl, 'auth can-i --list -n web');
      t.match(rules, /^pods +\[\] +\[\] +\[get list watch\]/m);
      t.notMatch(rules, /secrets|delete/);
    });
  },
);

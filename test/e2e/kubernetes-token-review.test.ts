/**
 * Service accounts of a real kube-apiserver use Stonegate with their own tokens, and have the same identity
 * as without it.
 */
import t, { type Test } from 'tap';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { sameResponse } from '../support/kubernetes/same-response.ts';
import { serviceAccountToken, startKubernetesSite, WHOAMI, WHOAMI_PATH } from '../support/kubernetes/site.ts';

const ACCOUNTS = '/api/v1/namespaces/acme/serviceaccounts';
const PODS = '/api/v1/namespaces/acme/pods';
const ROBOT = 'system:serviceaccount:acme:robot';

async function start(t: Test) {
  const configuration = { authentication: { tokenReview: { tenant: 'robots' } } };
  const site = await startKubernetesSite(t, { configuration });
  await site.letWork('acme', ROBOT, 'system:serviceaccount:acme:short-lived');
  for (const name of ['robot', 'short-lived']) await site.kubernetes.create(ACCOUNTS, { metadata: { name } });
  return site;
}

t.test('service accounts', { skip: missingKubernetes() }, async (t) => {
  const site = await start(t);
  const { kubernetes, stonegate } = site;
  const token = await serviceAccountToken(kubernetes, 'acme', 'robot');
  const robot = { token, credential: { token } };

  await t.test('reach what RBAC gives them, and are refused in the API server’s own words', async (t) => {
    t.equal((await sameResponse(t, site, robot, PODS)).status, 200);
    t.match(await sameResponse(t, site, robot, '/api/v1/nodes'), {
      status: 403,
      body: new RegExp(`User \\\\"${ROBOT}\\\\" cannot list resource \\\\"nodes\\\\"`),
    });
    const headers = { 'impersonate-user': 'other-user' };
    t.equal((await stonegate.ask(token, PODS, { headers })).status, 403, 'they cannot impersonate a user');
  });

  await t.test('have the same uid, groups and credential id as without Stonegate', async (t) => {
    const userOf = (text: string): unknown => JSON.parse(text).status.userInfo;
    const direct = userOf((await kubernetes.ask({ token }, WHOAMI_PATH, WHOAMI)).body);
    t.match(direct, { username: ROBOT, extra: { 'authentication.kubernetes.io/credential-id': [/^JTI=/] } });
    t.same(userOf((await stonegate.ask(token, WHOAMI_PATH, WHOAMI)).body), direct);
  });

  await t.test('C152 with a token for another audience are refused, as without Stonegate', async (t) => {
    const vault = await serviceAccountToken(kubernetes, 'acme', 'robot', ['vault']);
    t.equal((await kubernetes.ask({ token: vault }, PODS)).status, 401);
    t.match((await stonegate.ask(vault, PODS)).json(), { code: 401, reason: 'Unauthorized' });
  });

  await t.test(
    'whose account is deleted are refused, although Stonegate has reviewed the token before',
    async (t) => {
      const short = await serviceAccountToken(kubernetes, 'acme', 'short-lived');
      t.equal((await stonegate.ask(short, PODS)).status, 200);
      await kubernetes.admit('DELETE', `${ACCOUNTS}/short-lived`);
      // The API server itself caches a valid token for ten seconds.
      await kubernetes.restart();
      t.equal((await kubernetes.ask({ token: short }, PODS)).status, 401);
      t.match((await stonegate.ask(short, PODS)).json(), { code: 401, reason: 'Unauthorized' });
    },
  );

  for (const binary of findKubectls())
    await t.test(`work with ${binary.split('/').at(-1)}`, async (t) => {
      const kubectl = createKubectl(t, binary, {
        server: stonegate.url,
        ca: stonegate.authority.cert,
        token,
      });
      const run = (...words: string[]) => kubectl.run(['-n', 'acme', ...words]);
      t.match(await run('create', 'configmap', `by-${kubectl.minor}`), { code: 0 });
      t.match(await run('get', 'configmaps', '-o', 'name'), { stdout: `configmap/by-${kubectl.minor}` });
      t.match(await run('auth', 'can-i', 'delete', 'pods'), { stdout: /^yes/ });
    });
  if (findKubectls().length === 0) t.test('with kubectl', { skip: NO_KUBECTL }, async () => {});
});

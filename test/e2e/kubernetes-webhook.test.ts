/**
 * A real kube-apiserver that asks Stonegate's webhook who the user of a token is, and whether a policy allows
 * a request.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { kubeconfigOf } from '../support/kubeconfig.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind } from '../support/kubernetes/rbac.ts';
import { startKubernetesSite, WHOAMI, WHOAMI_PATH } from '../support/kubernetes/site.ts';
import { createAuthority } from '../support/tls/authority.ts';

const PODS = '/api/v1/namespaces/acme/pods';
const POLICY = [
  {
    users: { roles: ['member'], projects: ['web'] },
    resource_permissions: { 'acme/pods': ['get', 'list'] },
    nonresource_permissions: { '/metrics': ['get'] },
  },
];

/** An API server with the flags that docs/webhook.md gives. */
async function start(t: Test, version: 'v1' | 'v1beta1') {
  const authority = await createAuthority('webhook CA');
  const served = await authority.server('stonegate');
  const port = await freePort();
  const url = `https://127.0.0.1:${port}/webhook`;
  const certificate = await authority.client('kube-apiserver');
  const tls = { certFile: 'hook.crt', keyFile: 'hook.key', clientCAFile: 'hook-ca.crt' };
  const site = await startKubernetesSite(t, {
    files: { 'webhook.kubeconfig': kubeconfigOf({ url, ca: authority.cert }, { certificate }) },
    flags: (file) => [
      `--authentication-token-webhook-config-file=${file('webhook.kubeconfig')}`,
      `--authentication-token-webhook-version=${version}`,
      '--authorization-mode=Node,RBAC,Webhook',
      `--authorization-webhook-config-file=${file('webhook.kubeconfig')}`,
      `--authorization-webhook-version=${version}`,
      // The API server caches no result, so it asks for every request.
      '--authentication-token-webhook-cache-ttl=1ns',
      '--authorization-webhook-cache-authorized-ttl=1ns',
      '--authorization-webhook-cache-unauthorized-ttl=1ns',
    ],
    stonegateFiles: {
      'hook.crt': served.cert,
      'hook.key': served.key,
      'hook-ca.crt': authority.cert,
      'policy.json': JSON.stringify(POLICY),
    },
    configuration: { webhook: { bind: `127.0.0.1:${port}`, tls, policy: { file: 'policy.json' } } },
  });
  await site.kubernetes.create('/api/v1/namespaces', { metadata: { name: 'acme' } });
  return site;
}

for (const version of ['v1', 'v1beta1'] as const)
  t.test(
    `C242 an API server that sends reviews of version ${version}`,
    { skip: missingKubernetes() },
    async (t) => {
      const { kubernetes, stonegate, newcomer } = await start(t, version);
      const alice = { token: stonegate.keystoneToken('alice') };

      await t.test('the API server itself accepts a Keystone token, with the same user name', async (t) => {
        const who: {
          status: { userInfo: { username: string; uid: string; groups: string[]; extra: object } };
        } = JSON.parse((await kubernetes.ask(alice, WHOAMI_PATH, WHOAMI)).body);
        const { username, uid, groups, extra } = who.status.userInfo;
        const directory = stonegate.keystone.directory;
        const { id } = directory.project('acme', 'web');
        t.equal(username, 'acme:alice');
        t.equal(uid, directory.user('acme', 'alice').id);
        t.match(groups, [
          `keystone:project:${id}`,
          `keystone:project:${id}:role:member`,
          'stonegate:tenant:acme',
          'system:authenticated',
        ]);
        t.match(extra, { 'alpha.kubernetes.io/identity/project/name': ['web'] });
      });

      await t.test('what the policy allows is allowed, and nothing else', async (t) => {
        t.equal((await kubernetes.ask(alice, PODS)).status, 200);
        t.equal((await kubernetes.ask(alice, '/metrics')).status, 200);
        t.match((await kubernetes.ask(alice, `${PODS}/web`, { method: 'DELETE' })).json(), {
          code: 403,
          message: /User "acme:alice" cannot delete resource "pods"/,
        });
        t.equal((await kubernetes.ask(alice, '/api/v1/namespaces/default/pods')).status, 403);
      });

      await t.test('RBAC allows what is bound to a group of the token', async (t) => {
        const bob = { token: stonegate.keystoneToken('bob') };
        const secrets = '/api/v1/namespaces/acme/secrets';
        t.equal((await kubernetes.ask(bob, secrets)).status, 403);
        const { id } = stonegate.keystone.directory.project('globex', 'web');
        await bind(kubernetes, {
          name: 'members-of-web',
          namespace: 'acme',
          role: 'cluster-admin',
          subjects: [`group:keystone:project:${id}:role:member`],
        });
        await eventually(async () => (await kubernetes.ask(bob, secrets)).status === 200);
        t.pass('as soon as the API server knows of it');
      });

      await t.test('a token of no project and an invalid token are refused', async (t) => {
        for (const token of [newcomer('carol'), 'gAAAAA-nonsense'])
          t.match((await kubernetes.ask({ token }, PODS)).json(), { code: 401, reason: 'Unauthorized' });
      });
    },
  );

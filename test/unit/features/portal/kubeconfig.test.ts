import t from 'tap';
import { parse } from 'yaml';
import type { Account } from '../../../../src/features/portal/account.ts';
import { kubeconfigOf, kubeconfigUsers } from '../../../../src/features/portal/kubeconfig.ts';
import { createFakePortal, createFakeProvider, headerOf } from '../../../support/portal.ts';

const CLUSTER = {
  name: 'demo',
  server: 'https://k8s.example.com',
  ca: undefined,
  keystoneURL: 'https://keystone.example.com/v3',
};
const ACCOUNT: Account = {
  ...parse(`
  {name: alice, domain: acme, tenant: acme, username: 'acme:alice', groups: [], roles: [], otherProjects: [],
  project: {id: p1, name: web, namespace: acme-web}, expiresAt: 0}`),
  issuer: undefined,
};

t.test('each project has its own context, the project of the token first', async (t) => {
  const users = kubeconfigUsers(
    { ...ACCOUNT, otherProjects: [{ id: 'p2', name: 'Big Data', namespace: undefined }] },
    CLUSTER,
    undefined,
  );
  t.same(
    users.map(({ name }) => name),
    ['demo-web', 'demo-big-data'],
  );
  const portalURL = 'https://login.example.com';
  const config: unknown = parse(kubeconfigOf({ ...CLUSTER, portalURL }, users));
  const installHint = `stonegate is needed to log in: get it at ${portalURL}`;
  t.match(config, {
    users: [{ user: { exec: { installHint } } }, { user: { exec: { installHint } } }],
    'current-context': 'demo-web',
    contexts: [
      { name: 'demo-web', context: { namespace: 'acme-web' } },
      { name: 'demo-big-data', context: { namespace: undefined } },
    ],
  });
});

t.test(
  'with an issuer the exec plugin gets the issuer, the client ID and the scopes beyond its defaults',
  async (t) => {
    const portal = createFakePortal();
    const browser = portal.browser();
    await browser.get('/login/oidc?provider=acme');
    await browser.get('/login/callback/acme?code=c&state=the-state');
    const response = await browser.get('/kubeconfig');
    t.equal(headerOf(response, 'content-disposition'), 'attachment; filename="demo.kubeconfig"');
    t.match(
      parse(response.text),
      parse(`
      clusters:
      - name: demo
        cluster: {server: 'https://k8s.example.com', certificate-authority-data: ${btoa('CERTIFICATE')}}
      users:
      - user:
          exec:
            command: stonegate
            args:
            - login
            - --oidc
            - --issuer-url=https://acme.example.com
            - --client-id=kubectl-client
            - --redirect-uri=http://127.0.0.1/acme
            - --scope=groups`),
    );
  },
);

t.test('a cluster whose name is a boolean in YAML 1.1 keeps its name', async (t) => {
  const cluster = { ...CLUSTER, name: 'on' };
  const text = kubeconfigOf(cluster, kubeconfigUsers(ACCOUNT, cluster, undefined));
  t.match(parse(text, { version: '1.1' }), {
    clusters: [{ name: 'on' }],
    contexts: [{ context: { cluster: 'on' } }],
  });
});

t.test('the kubeconfig has the authorities of a private Keystone and of a private issuer', async (t) => {
  const cluster = { ...CLUSTER, keystoneCA: 'KEYSTONE CA' };
  const provider = { ...createFakeProvider('acme', async () => ({ idToken: '' })), ca: 'ISSUER CA' };
  const argsOf = (account: Account) => kubeconfigUsers(account, cluster, provider)[0]?.args ?? [];
  t.ok(argsOf(ACCOUNT).includes('--os-cacert=data:;base64,S0VZU1RPTkUgQ0E='));
  t.ok(argsOf({ ...ACCOUNT, issuer: provider.issuer }).includes('--ca-file=data:;base64,SVNTVUVSIENB'));
});

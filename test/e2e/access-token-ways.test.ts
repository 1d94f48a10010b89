/**
 * The ways in which a request can carry an access token: all of them get the same decision, and a token that
 * is sent in any other way is refused.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { type Ask, posted } from '../support/https-client.ts';
import { openExec } from '../support/open-exec.ts';
import { rows } from '../support/rows.ts';
import { createAuthority } from '../support/tls/authority.ts';
import { startTokenStandIn } from '../support/token-standin.ts';
import { createWebhookClient } from '../support/webhook.ts';

const PODS = '/api/v1/namespaces/default/pods';
const SECRETS = '/api/v1/namespaces/default/secrets';
const ELSEWHERE = '/api/v1/namespaces/other/pods';
const SUBPROTOCOL = 'base64url.bearer.authorization.k8s.io.';
const EXEC = `${PODS}/web/exec?command=cat&stdin=true&stdout=true`;
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings';
const GUEST_PODS = '/tenants/globex/api/v1/namespaces/default/pods';
const OWN = '/apis/stonegate.dev/v1alpha1';
const CONFIG_MAP = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { generateName: 'made-' } };
const BINDING = {
  kind: 'RoleBinding',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  metadata: { generateName: 'made-' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'worker' },
};
const AS_DAVE = { headers: { 'impersonate-user': 'dave' } };

/** Requests, each of which alice may make. */
const ASKED: Readonly<Record<string, readonly [path: string, options?: Ask]>> = {
  'who am I': [`${OWN}/selfidentity`],
  'read here': [PODS],
  'read elsewhere': [ELSEWHERE],
  'write here': ['/api/v1/namespaces/default/configmaps', posted(CONFIG_MAP)],
  secrets: [SECRETS],
  bind: [BINDINGS, posted(BINDING)],
  tokens: [`${OWN}/accesstokens`],
  enter: [GUEST_PODS],
  shell: [EXEC, { method: 'POST' }],
  'as dave': [PODS, AS_DAVE],
};

/** What each scope allows; every other request of ASKED gets a 403. */
const SCOPES = rows(`
userinfo
read | read here, read elsewhere
namespace/default/read | read here
namespace/default/control | read here
namespace/default/edit | read here, write here
namespace/default/manage | read here, write here
tenant/read | read here, read elsewhere
tenant/manage | read here, read elsewhere, write here
session | read here, read elsewhere, write here, enter
namespace/default/read +secrets | read here, secrets
namespace/default/edit +rbac | read here, write here, bind
namespace/default/read +impersonate | read here, as dave
namespace/default/read +exec | read here
namespace/default/control +exec | read here, shell
namespace/default/read +tokens | read here, tokens
tenant/read +tokens | read here, read elsewhere, tokens`);

function start(
  t: Test,
  configuration: Record<string, object> = {},
  files: Readonly<Record<string, string>> = {},
) {
  return startTokenStandIn(t, {
    configuration,
    abac: [{ name: 'reading', tenant: 'acme', user: 'alice', space: 'globex', readonly: true }],
    async prepare({ apiServer: { seed }, configFile }) {
      for (const [name, content] of Object.entries(files))
        await writeFile(join(dirname(configFile), name), content);
      const place = { tenant: 'acme' };
      seed.clusterRoleBinding('workers-dave', 'worker', ['user:acme:dave'], place);
    },
  });
}

t.test(
  'D405 D409 D410 D411 D414 D418 each scope allows the same requests, however the token is sent',
  async (t) => {
    const site = await start(t);
    const alice = site.keystoneToken('alice');
    await eventually(async () => (await site.ask(alice, GUEST_PODS)).status === 200);
    for (const [text, allowed] of SCOPES) {
      const scopes = text.split(' ');
      const { secret } = await site.make(alice, ...scopes);
      for (const [what, [path, options = {}]] of Object.entries(ASKED)) {
        const isAllowed = what === 'who am I' || allowed.split(', ').includes(what);
        const carrier = `${SUBPROTOCOL}${Buffer.from(secret).toString('base64url')}`;
        const headers = { ...options.headers, 'sec-websocket-protocol': `${carrier}, v5.channel.k8s.io` };
        for (const { status, body } of [
          await site.ask(secret, path, options),
          await site.ask(undefined, path, { ...options, headers }),
        ]) {
          // Without an upgrade the API server responds to exec with 400.
          t.equal(status < 300 || status === 400, isAllowed, `${text}: ${what}: ${status}`);
          if (!isAllowed) t.match(body, `its scopes are ${text}`);
        }
      }
    }
  },
);

t.test('a token that may read, but not create, opens no shell by WebSocket', async (t) => {
  const site = await start(t);
  const alice = site.keystoneToken('alice');
  const { secret } = await site.make(alice, 'namespace/default/read', '+exec');
  const headers = {
    ...{ connection: 'Upgrade', upgrade: 'websocket' },
    ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' },
    'sec-websocket-protocol': 'v5.channel.k8s.io',
  };
  t.match(await site.ask(secret, EXEC, { headers }), {
    status: 403,
    body: /cannot create resource \\"pods\/exec\\".*its scopes are namespace\/default\/read \+exec/,
  });
  const stronger = await site.make(alice, 'namespace/default/control', '+exec');
  await openExec(t, site.destination, stronger.secret, 'websocket');
});

t.test(
  'D417 without the scope for it a token changes no tokens, members, policies or quotas of its owner',
  async (t) => {
    const site = await start(t);
    const { secret, name } = await site.make(
      site.keystoneToken('alice'),
      'tenant/manage',
      '+exec',
      '+secrets',
    );
    const tenancy = '/apis/tenancy.stonegate.dev/v1alpha1';
    const writes = [
      `${OWN}/accesstokens`,
      `${OWN}/accesstokenrotations`,
      `${OWN}/teams`,
      `${OWN}/invitations`,
      `${OWN}/invitationacceptances`,
      `${OWN}/namespaces/default/members`,
      `${tenancy}/crosstenantpolicies`,
      `${tenancy}/namespaces/default/tenantquotas`,
    ];
    for (const path of writes) t.match(await site.ask(secret, path, posted({})), { status: 403 }, path);
    t.match(await site.revoke(secret, name), { status: 403 });
  },
);

t.test('D414 D415 a token that is sent in any other way is refused, and no backend is asked', async (t) => {
  const authority = await createAuthority('API servers');
  const own = await authority.client('kube-apiserver');
  const site = await start(
    t,
    {
      webhook: {
        bind: '127.0.0.1:0',
        tls: { certFile: 'tls.crt', keyFile: 'tls.key', clientCAFile: 'hook-ca.crt' },
      },
    },
    { 'hook-ca.crt': authority.cert },
  );
  const { secret } = await site.make(site.keystoneToken('alice'), 'session');
  t.match(await site.ask(secret, PODS), { status: 200 });
  const validations = () => site.keystone.calls.filter((call) => call.includes('/auth/tokens')).length;
  const before = validations();
  const password = (name: string) => `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
  const ways: Readonly<Record<string, Ask['headers']>> = {
    'X-Auth-Token': { 'x-auth-token': secret },
    'a password': { authorization: password('alice') },
    'a password without a name': { authorization: password('x') },
    'X-Api-Key': { 'x-api-key': secret },
    'a cookie': { cookie: `access_token=${secret}; stonegate=${secret}` },
    'another scheme': { authorization: `Token ${secret}` },
    'two ways at once': { authorization: `Bearer ${secret}`, 'x-auth-token': secret },
  };
  for (const [way, headers = {}] of Object.entries(ways))
    t.match(await site.ask(undefined, PODS, { headers }), { status: 401 }, way);
  t.match(await site.ask(undefined, `${PODS}?access_token=${secret}`), { status: 401 }, 'a query parameter');
  const { port } = site.app.addresses.webhook ?? {};
  if (port === undefined) throw new Error('there is no webhook');
  const webhook = createWebhookClient({ port, ca: site.authority.cert, own });
  t.teardown(() => webhook.close());
  t.match((await webhook.reviewToken(secret)).body.status, { authenticated: false }, 'the webhook');
  t.equal(validations(), before, 'Keystone is not asked');
});

/** Client certificates: over TLS, with kubectl, and when CAs or certificates change or expire. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { connect as connectTLS } from 'node:tls';
import t, { type Test } from 'tap';
import { createKubectl, kubectlsOrSkip } from '../support/apiserver/kubectl.ts';
import type { Seed } from '../support/apiserver/seed.ts';
import { askOnce, openRequest } from '../support/open-request.ts';
import { isForClient } from '../support/own-questions.ts';
import { rule } from '../support/policy-rule.ts';
import { readAll, readSome, request2 } from '../support/server/listening.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';
import type { KeyPair } from '../support/tls/authority.ts';
import { createIssuer, type Subject } from '../support/tls/issuer.ts';

const NAMESPACES = '/api/v1/namespaces';
const WATCH = '/api/v1/namespaces/default/configmaps?watch=true';
const OPEN_SHELL = [
  'GET /api/v1/namespaces/default/pods/web/exec?command=cat&stdin=true&stdout=true HTTP/1.1',
  'Host: stonegate',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: v4.channel.k8s.io',
  '\r\n',
].join('\r\n');
const BOB: Subject = [
  ['O', 'tenant:acme'],
  ['OU', 'dev'],
  ['CN', 'bob'],
];
const company = createIssuer('company');
const successor = createIssuer('successor');

/** Lets acme's developers who have a certificate do everything in acme. */
function certify(seed: Seed) {
  seed.clusterRole('certified', [rule('*', '*', '*')], { tenant: 'acme' });
  seed.clusterRoleBinding('certified', 'certified', ['group:x509:dev'], { tenant: 'acme' });
}

async function setUp(t: Test, { mode = 'arktos', settings = {} }: { mode?: Mode; settings?: object } = {}) {
  const folder = t.testdir({ land: { 'people-ca.crt': company.cert } });
  const stonegate = await startStonegate(t, {
    folder: join(folder, 'land'),
    mode,
    configuration: { authentication: { clientCertificates: { caFile: 'people-ca.crt', ...settings } } },
  });
  const { app, apiServer } = stonegate;
  if (mode === 'arktos') certify(apiServer.seed);
  const { destination } = stonegate;
  return {
    ...stonegate,
    askAs: (credential: KeyPair, path = NAMESPACES, token?: string) =>
      askOnce({ ...destination, ...credential }, token, path),
    async watchAs(credential: KeyPair) {
      const watch = openRequest({ ...destination, ...credential }, undefined, WATCH);
      await watch.until('"settings"');
      return watch;
    },
    trust: async (pem: string) => {
      await writeFile(join(folder, 'land', 'people-ca.crt'), pem);
      await app.reload();
    },
    /** Requests to the backends on behalf of clients, without Stonegate's own probes and access reviews. */
    asked: () => [
      ...apiServer.requests.filter(isForClient).map(({ url }) => url),
      ...stonegate.keystone.calls.filter((call) => call.includes('auth')),
    ],
    /** Impersonated requests that the API server received. */
    forwarded: () => apiServer.requests.filter(({ headers }) => 'impersonate-user' in headers),
  };
}

t.test(
  'both forms of a subject reach the API server as a user of the tenant, over HTTP/1.1 and HTTP/2',
  async (t) => {
    const { askAs, forwarded, url, authority, audited } = await setUp(t);
    const other: Subject = [
      ['O', 'dev'],
      ['CN', 'acme:bob'],
    ];
    for (const subject of [BOB, other]) {
      t.equal((await askAs(company.issue(subject))).status, 200);
      t.match(forwarded().at(-1), {
        url: /^\/api\/v1\/tenants\/acme\/namespaces/,
        headers: { 'impersonate-user': 'acme:x509:bob' },
        user: { groups: ['x509:dev', 'system:authenticated'] },
      });
    }
    const session = connect(url, { ca: authority.cert, ...company.issue(BOB) });
    t.teardown(() => session.destroy());
    t.equal((await request2(session, { ':path': NAMESPACES })).status, 200);
    t.match((await audited()).at(-1), {
      user: { username: 'acme:x509:bob' },
      annotations: {
        'stonegate.dev/authenticator': 'x509',
        'stonegate.dev/certificate-fingerprint': /^[0-9a-f]{64}$/,
      },
    });
  },
);

t.test('C076 a certificate of another CA gets a 401, and no backend is called', async (t) => {
  const { askAs, asked, ask } = await setUp(t);
  const refused = await askAs(successor.issue(BOB));
  t.match(refused, { status: 401, code: 'CredentialInvalid' });
  t.notMatch(refused.body, /UNABLE_TO/, 'the reason is only logged');
  t.same(asked(), []);
  t.match(
    (await ask(undefined, NAMESPACES)).json(),
    { code: 401 },
    'a request without a credential is refused as usual',
  );
});

t.test(
  'C095 a request with a token and a certificate, verified or not, is refused, and the token is not forwarded',
  async (t) => {
    const { askAs, asked, keystoneToken } = await setUp(t);
    for (const credential of [company.issue(BOB), successor.issue(BOB)])
      t.match(await askAs(credential, NAMESPACES, keystoneToken('alice')), {
        status: 401,
        code: 'CredentialAmbiguous',
      });
    t.same(asked(), []);
  },
);

t.test('when the authority is replaced, watches and tunnels of its certificates end', async (t) => {
  const { askAs, watchAs, trust, app, authority } = await setUp(t);
  const before = company.issue(BOB);
  const after = successor.issue(BOB);
  t.equal((await askAs(after)).status, 401);
  await trust(company.cert + successor.cert);
  t.equal((await askAs(after)).status, 200);
  const old = await watchAs(before);
  const shell = connectTLS({ host: '127.0.0.1', port: app.address.port, ca: authority.cert, ...before });
  shell.write(OPEN_SHELL);
  t.match(await readSome(shell), /^HTTP\/1\.1 101 /);
  const shellClosed = readAll(shell);
  await trust(successor.cert);
  t.match(await old.answered, { complete: false });
  await shellClosed;
  t.equal((await askAs(after)).status, 200);
  t.match(await askAs(before), { status: 401, code: 'CredentialInvalid' });
});

t.test(
  'a reload that switches client certificates off reports that it needs a restart, and changes nothing',
  async (t) => {
    const { app, askAs, configure, logged } = await setUp(t);
    await configure({ authentication: { clientCertificates: undefined } });
    await app.reload();
    t.ok(logged.some((line) => line.includes('can only be changed by a restart')));
    t.equal((await askAs(company.issue(BOB))).status, 200);
  },
);

t.test('a user with a certificate can use whoami, and have another user’s request explained', async (t) => {
  const { app, apiServer, authority, askAs, keystoneToken } = await setUp(t, {
    settings: { allowSystemTenant: true },
  });
  const self = await askAs(company.issue(BOB), '/apis/stonegate.dev/v1alpha1/selfidentity');
  t.match(JSON.parse(self.body), {
    status: { user: { username: 'acme:x509:bob' }, tenant: 'acme', authenticator: 'x509' },
  });
  const mayExplain = [rule('create', 'explanations', 'stonegate.dev')];
  apiServer.seed.clusterRole('explainer', mayExplain);
  apiServer.seed.clusterRoleBinding('explainers', 'explainer', ['user:system:stonegate:x509:root']);
  const root = company.issue([['CN', 'system:root']]);
  const destination = { port: app.address.port, ca: authority.cert, ...root };
  const explanation = await askOnce(destination, undefined, '/apis/stonegate.dev/v1alpha1/explanations', {
    method: 'POST',
    body: JSON.stringify({
      kind: 'Explanation',
      apiVersion: 'stonegate.dev/v1alpha1',
      spec: { request: { method: 'GET', path: NAMESPACES }, token: keystoneToken('alice') },
    }),
  });
  t.equal(explanation.status, 201);
  t.match(JSON.parse(explanation.body), { status: { outcome: 'forwarded' } });
  t.match(
    explanation.body,
    /"acme:alice"/,
    'the explained request does not have the certificate of the user who asks',
  );
});

const binaries = kubectlsOrSkip(t, 'kubectl with a certificate');
for (const binary of binaries)
  t.test(`${binary.split('/').at(-1)} with a client certificate`, async (t) => {
    const { url, authority, log, trust } = await setUp(t);
    log.append('first line');
    const kubectl = createKubectl(t, binary, {
      server: url,
      ca: authority.cert,
      certificate: company.issue(BOB),
    });
    const owner = ['get', 'configmap', 'settings', '-o', 'jsonpath={.data.owner}'];
    t.match(await kubectl.run(owner), { code: 0, stdout: 'acme' });
    t.match(await kubectl.run('exec web -- echo hello'), { code: 0, stdout: 'hello\n' });
    const following = kubectl.start('logs -f web');
    if (following.stdout) await once(following.stdout, 'data');
    await trust(successor.cert);
    await once(following, 'close');
    t.match(await kubectl.run(owner), { code: 1, stderr: /logged in|Unauthorized/ });
  });

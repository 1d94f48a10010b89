/** What a client gets if the API server refuses Stonegate's own credential, and if it refuses the user. */
import t, { type Test } from 'tap';
import { posted } from '../support/https-client.ts';
import { type RunningStonegate, startStonegate } from '../support/stonegate.ts';

const PODS = '/api/v1/namespaces/default/pods';
const WEBSOCKET = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

async function setUp(t: Test, configuration: Record<string, object> = {}) {
  const stonegate = await startStonegate(t, { configuration });
  return stonegate;
}

/** Makes the API server handle the next requests for that path as if Stonegate had no rights. */
function withoutRights({ apiServer }: RunningStonegate, part: string, times: number) {
  for (let time = 0; time < times; time += 1)
    apiServer.breakNext('no-rights', ({ url = '' }) => url.includes(part));
}

const count = ({ apiServer }: RunningStonegate, part: string) =>
  apiServer.requests.filter(({ url }) => url.includes(part)).length;

const CREDENTIALS = {
  'an opaque token': {},
  'a certificate': { upstream: { credential: { certFile: 'apiserver.crt', keyFile: 'apiserver.key' } } },
};

for (const [what, configuration] of Object.entries(CREDENTIALS))
  t.test(`with ${what} as Stonegate’s own credential`, async (t) => {
    const stonegate = await setUp(t, configuration);
    const alice = stonegate.keystoneToken('alice');

    await t.test('a read is repeated once', async (t) => {
      withoutRights(stonegate, '/pods', 1);
      t.equal((await stonegate.ask(alice, PODS)).status, 200);
      t.equal(count(stonegate, '/pods'), 2);
    });

    await t.test('if the repeated read is refused too, the client gets a 503', async (t) => {
      withoutRights(stonegate, '/pods', 2);
      const reply = await stonegate.ask(alice, PODS);
      t.equal(reply.status, 503);
      t.match(reply.body, /UpstreamRefusedCredential/);
      t.notMatch(reply.body, /cannot impersonate/);
    });

    await t.test('a write is not repeated', async (t) => {
      withoutRights(stonegate, '/configmaps', 1);
      const once = posted({ metadata: { name: 'once' } });
      t.equal((await stonegate.ask(alice, '/api/v1/namespaces/default/configmaps', once)).status, 503);
      t.equal(count(stonegate, '/configmaps'), 1);
    });

    await t.test('an upgrade gets a 503 at once', async (t) => {
      withoutRights(stonegate, '/exec', 1);
      const reply = await stonegate.ask(alice, `${PODS}/web/exec?command=true`, { headers: WEBSOCKET });
      t.equal(reply.status, 503);
      t.match(reply.body, /UpstreamRefusedCredential/);
    });

    await t.test('discovery is repeated once; if that is refused too, the client gets a 503', async (t) => {
      withoutRights(stonegate, '/apis/apps/v1', 1);
      t.equal((await stonegate.ask(alice, '/apis/apps/v1')).status, 200);
      withoutRights(stonegate, '/apis/batch/v1', 2);
      t.equal((await stonegate.ask(alice, '/apis/batch/v1')).status, 503);
    });

    await t.test('a 403 for the user’s own rights reaches the user unchanged', async (t) => {
      const newcomer = stonegate.keystone.issue(stonegate.keystone.directory.user('acme', 'newcomer'));
      const forged = encodeURIComponent(
        'x" is forbidden: User "stonegate" cannot impersonate resource "users"',
      );
      for (const path of [PODS, `/api/v1/namespaces/default/serviceaccounts/${forged}`]) {
        const reply = await stonegate.ask(newcomer, path);
        t.equal(reply.status, 403, path);
        t.match(reply.json().message, /User "acme:newcomer" cannot/);
      }
    });
  });

t.test('a 403 from a workload or an aggregated API server reaches the user', async (t) => {
  const stonegate = await setUp(t);
  const alice = stonegate.keystoneToken('alice');
  for (const path of [`${PODS}/web/proxy/x`, '/apis/metrics.example.com/v1/namespaces/default/things']) {
    withoutRights(stonegate, path.split('/').at(-1) ?? '', 1);
    t.equal((await stonegate.ask(alice, path)).status, 403, path);
  }
});

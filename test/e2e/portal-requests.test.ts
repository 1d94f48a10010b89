/** Requests to the portal in the whole program: audit events, metrics, rates, and no usage. */
import t, { type Test } from 'tap';
import { freePort } from '../support/free-port.ts';
import { posted } from '../support/https-client.ts';
import { createPortalVisitor } from '../support/portal-visitor.ts';
import { startTokenStandIn } from '../support/token-standin.ts';

const TOKEN = { do: 'create', level: 'edit', where: 'namespaces', namespaces: 'default', days: '1' };

async function setUp(t: Test, configuration: Record<string, object> = {}) {
  const port = await freePort();
  const portal = {
    ...{ bind: `127.0.0.1:${port}`, publicURL: `https://localhost:${port}` },
    tls: { certFile: 'tls.crt', keyFile: 'tls.key' },
    kubernetes: { name: 'demo', server: 'https://127.0.0.1:8443' },
  };
  const stonegate = await startTokenStandIn(t, { configuration: { portal, ...configuration } });
  const visitor = createPortalVisitor({ ca: stonegate.authority.cert, publicPort: port });
  t.equal((await visitor.signIn()).status, 303);
  return { stonegate, visitor };
}

t.test('a token that is made in the portal is audited like one that is made by the API', async (t) => {
  const { stonegate, visitor } = await setUp(t, { usage: { records: 'usage.log' } });
  await visitor.get('/tokens');
  const before = (await stonegate.audited()).length;
  t.equal((await visitor.post('/tokens', TOKEN)).status, 303);
  await stonegate.ask(
    stonegate.keystoneToken('alice'),
    '/apis/stonegate.dev/v1alpha1/accesstokens',
    posted({
      ...{ kind: 'AccessToken', apiVersion: 'stonegate.dev/v1alpha1' },
      spec: { scopes: ['namespace/default/edit'], expirationSeconds: 3_600 },
    }),
  );
  const events = (await stonegate.audited()).slice(before);
  const [received, complete, byAPI] = events;
  t.equal(events.length, 4);
  t.match([received?.stage, complete?.stage], ['RequestReceived', 'ResponseComplete']);
  t.equal(received?.auditID, complete?.auditID);
  t.equal(complete?.requestURI, '/tokens');
  const session = complete?.annotations?.['stonegate.dev/session'] ?? '';
  t.match(session, /^[0-9a-f]{16}$/);
  t.match(complete?.responseStatus, { code: 303 });
  for (const event of [received, complete]) {
    t.equal(event?.verb, byAPI?.verb);
    t.same(event?.objectRef, byAPI?.objectRef);
    t.equal(event?.user.username, byAPI?.user.username);
    t.match(event?.annotations, { 'stonegate.dev/tenant': 'acme', 'stonegate.dev/authenticator': 'portal' });
  }
  const signIn = (await stonegate.audited()).filter(
    ({ annotations }) => annotations?.['stonegate.dev/session'] === session,
  );
  t.match(signIn[0], {
    ...{ requestURI: '/login/keystone', verb: 'post', user: { username: 'acme:alice' } },
    annotations: { 'stonegate.dev/authenticator': 'keystone' },
  });

  const metrics = await stonegate.app.metrics.text();
  for (const series of [
    'requests_total{verb="create",authenticator="portal",status="303"} 1',
    'requests_total{verb="list",authenticator="portal",status="200"} 1',
    'requests_active{kind="short"} 0',
  ])
    t.match(metrics, `stonegate_${series}\n`);

  const used = stonegate.app.usage()?.projects.filter(({ tenant }) => tenant === 'acme') ?? [];
  t.match(used, [{ usage: { writeRequests: 1, listRequests: 0, getRequests: 0 } }], 'of the API alone');
  t.equal(used.length, 1);
});

t.test('a rate of users holds for the API and the portal together', async (t) => {
  const limits = { perUser: { perSecond: 0.001, burst: 12 } };
  const { stonegate, visitor } = await setUp(t, { limits });
  const alice = stonegate.keystoneToken('alice');
  t.equal((await visitor.get('/')).status, 200);
  t.equal((await visitor.get('/tokens')).status, 200);
  const refused = await visitor.post('/tokens', TOKEN);
  t.equal(refused.status, 303, 'the last two of twelve tokens');
  t.match(await visitor.get('/tokens'), { status: 200, body: /Copy the token now/ });
  t.match(await visitor.get('/tokens'), {
    status: 429,
    body: /the user &quot;acme:alice&quot; is over its rate/,
  });
  t.match(await visitor.post('/tokens', TOKEN), { status: 429, body: /name="namespaces" value="default"/ });
  t.equal((await stonegate.ask(alice, '/version')).status, 429);
  const refusals = (await stonegate.audited()).filter(({ responseStatus }) => responseStatus?.code === 429);
  t.match(refusals, [
    { requestURI: '/tokens', verb: 'list', responseStatus: { reason: 'UserRateExceeded' } },
    { requestURI: '/tokens', verb: 'create', responseStatus: { reason: 'UserRateExceeded' } },
    { requestURI: '/version' },
  ]);
  t.equal((await visitor.post('/logout')).status, 303, 'signing out is free');
});

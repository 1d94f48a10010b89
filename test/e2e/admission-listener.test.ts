/**
 * The admission webhook within `stonegate serve`: a listener of its own, which serves only reviews and its
 * readiness, requires a client certificate if a CA is configured for them, and follows the configuration.
 */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { createHttpsClient, posted } from '../support/https-client.ts';
import { type RunningStonegate, startStonegate } from '../support/stonegate.ts';
import { createAuthority, type KeyPair } from '../support/tls/authority.ts';

const TLS = { certFile: 'tls.crt', keyFile: 'tls.key' };

async function start(t: Test, admission: object = {}) {
  const configuration = { admission: { bind: '127.0.0.1:0', tls: TLS, ...admission } };
  const stonegate = await startStonegate(t, { configuration });
  return stonegate;
}

function client(t: Test, { app, authority }: RunningStonegate, certificate?: KeyPair) {
  const port = app.addresses.admission?.port;
  if (port === undefined) throw new TypeError('there is no admission listener');
  const { ask, close } = createHttpsClient({ port, ca: authority.cert, certificate });
  t.teardown(close);
  return {
    ask,
    /** Whether the webhook lets alice of the tenant acme create an object of the kind. */
    async isAllowed(kind: string, resource: string, path = '/admission') {
      const uid = randomUUID();
      const of = { group: 'batch', version: 'v1', resource };
      const object = { kind, apiVersion: 'batch/v1', metadata: { name: 'x', tenant: 'acme' }, spec: {} };
      const userInfo = { username: 'acme:alice', groups: ['system:authenticated'] };
      const request = { uid, operation: 'CREATE', resource: of, namespace: 'default', userInfo, object };
      const review = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request };
      const reply = await ask(undefined, path, posted(review));
      const { response }: { response: { uid: string; allowed: boolean } } = JSON.parse(reply.body);
      t.match({ status: reply.status, uid: response.uid }, { status: 200, uid });
      return response.allowed;
    },
  };
}

t.test('a review needs no credential, and the listener serves no other API', async (t) => {
  const stonegate = await start(t);
  const { ask, isAllowed } = client(t, stonegate);
  t.equal(await isAllowed('CronJob', 'cronjobs'), true);
  t.equal((await ask(undefined, '/readyz')).status, 200);
  const none = [
    '/admissions',
    '/admission/',
    '/admission/batch/cronjobs',
    '/admission/core/pods/exec/connect',
  ];
  for (const path of ['/api/v1/namespaces', '/metrics', '/webhook/token', '/', ...none])
    t.equal((await ask(stonegate.keystoneToken('alice'), path)).status, 404, path);
  t.same(
    stonegate.apiServer.requests.filter(({ url }) => url === '/api/v1/namespaces'),
    [],
    'none of these requests reaches the API server',
  );
});

t.test('with clientCAFile only a client with a certificate of that authority is served', async (t) => {
  const stonegate = await start(t, { tls: { ...TLS, clientCAFile: 'ca.crt' } });
  const certificate = await stonegate.authority.client('kube-apiserver');
  t.equal(await client(t, stonegate, certificate).isAllowed('CronJob', 'cronjobs'), true);
  await t.rejects(client(t, stonegate).ask(undefined, '/readyz'), 'without a certificate');
  const foreign = await (await createAuthority('another CA')).client('kube-apiserver');
  await t.rejects(
    client(t, stonegate, foreign).ask(undefined, '/readyz'),
    'with a certificate of another authority',
  );
});

t.test('a reload changes what is refused; an invalid configuration changes nothing', async (t) => {
  const stonegate = await start(t);
  const { isAllowed } = client(t, stonegate);
  t.equal(await isAllowed('CronJob', 'cronjobs'), true);
  await stonegate.configure({
    admission: { bind: '127.0.0.1:0', tls: TLS, systemKinds: ['cronjobs.batch'] },
  });
  await stonegate.app.reload();
  t.equal(await isAllowed('CronJob', 'cronjobs'), false);
  await stonegate.configure({ admission: { bind: '127.0.0.1:0', tls: TLS, systemKinds: [''] } });
  await stonegate.app.reload();
  t.equal(await isAllowed('CronJob', 'cronjobs'), false);
});

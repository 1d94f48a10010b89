/**
 * The life of an access token at two replicas: it is created, rotated and revoked, an operator deletes or
 * edits it, and the API server is down.
 */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectH2 } from 'node:http2';
import t, { type Test } from 'tap';
import { newSecret } from '../../src/identity/secret-token.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { type JsonObject, objectAt } from '../support/apiserver/json.ts';
import { eventually } from '../support/eventually.ts';
import { createHttpsClient, posted } from '../support/https-client.ts';
import { openExec } from '../support/open-exec.ts';
import { openRequest } from '../support/open-request.ts';
import { rule } from '../support/policy-rule.ts';
import { startReplica } from '../support/stonegate.ts';
import { createTokenClient, madeToken, TOKENS } from '../support/token-client.ts';
import { startTokenStandIn, type TokenStandInOptions } from '../support/token-standin.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const WATCH = `${CONFIGMAPS}?watch=true`;
const SELF = '/apis/stonegate.dev/v1alpha1/selfidentity';
const STORED = {
  tenant: 'system',
  group: 'tenancy.stonegate.dev',
  resource: 'accesstokens',
  namespace: 'stonegate',
};

async function start(t: Test, options?: TokenStandInOptions) {
  const site = await startTokenStandIn(t, options);
  const other = await startReplica(t, site);
  const { store } = site.apiServer.cluster;
  const answers = async (secret: string) => [
    (await site.ask(secret, CONFIGMAPS)).status,
    (await other.ask(secret, CONFIGMAPS)).status,
  ];
  return {
    ...site,
    alice: site.keystoneToken('alice'),
    other: { ...other, ...createTokenClient(other) },
    /** Resolves when both replicas respond with this status. */
    bothAnswer: (secret: string, status: number) =>
      eventually(async () => (await answers(secret)).every((one) => one === status)),
    stored: (name: string) => store.get({ ...STORED, name }),
    edit: (name: string, spec: JsonObject) => {
      const object = store.get({ ...STORED, name }) ?? {};
      store.put({ ...STORED, name }, { ...object, spec: { ...objectAt(object, 'spec'), ...spec } });
    },
    remove: (name: string) => store.delete({ ...STORED, name }),
  };
}

t.test('revoking a token at one replica ends its watches and tunnels at the other', async (t) => {
  const { make, revoke, alice, other, bothAnswer } = await start(t);
  const { secret, name } = await make(alice, 'session', '+exec');
  await bothAnswer(secret, 200);
  const bystander = openRequest(other.destination, alice, WATCH);
  const watch = openRequest(other.destination, secret, WATCH);
  t.equal((await watch.head).statusCode, 200);
  t.equal((await bystander.head).statusCode, 200);
  const shell = once(await openExec(t, other.destination, secret, 'websocket'), 'close');
  const session = connectH2(`https://127.0.0.1:${other.destination.port}`, { ca: other.destination.ca });
  t.teardown(() => session.destroy());
  const watch2 = session.request({ ':path': WATCH, authorization: `Bearer ${secret}` });
  await once(watch2, 'response');
  watch2.resume();
  const ended2 = once(watch2, 'end');
  await revoke(alice, name);
  t.match(await watch.answered, { status: 200, complete: true });
  await Promise.all([shell, ended2]);
  await bothAnswer(secret, 401);
  t.notOk((await bystander.head).closed, "the owner's own watch continues");
  bystander.leave();
});

t.test('a token with fields of wrong types, or with others, is not created', async (t) => {
  const { post, alice } = await start(t);
  for (const spec of [
    { scopes: ['read'], everything: true },
    { scopes: 'read' },
    { rules: [rule('get', 'pods')] },
  ])
    t.match(await post(alice, spec), { status: 400 }, JSON.stringify(spec));
  t.match(await post(alice, { scopes: ['+exec'] }), { status: 422, body: /spec.scopes/ });
});

t.test('D402 a stored token with scopes that do not exist is refused as a whole', async (t) => {
  const { alice, make, edit, ask, bothAnswer, list } = await start(t);
  const { secret, name } = await make(alice, 'userinfo', 'read');
  await bothAnswer(secret, 200);
  for (const scopes of [['userinfo', 'bad'], [], ['+exec']]) {
    edit(name, { scopes });
    await bothAnswer(secret, 403);
    t.match(await ask(secret, SELF), { status: 403 }, JSON.stringify(scopes));
  }
  t.match(await list(alice), [{ status: { state: 'blocked', reason: /at least one scope/ } }]);
  edit(name, { scopes: ['read'] });
  await bothAnswer(secret, 200);
});

t.test('a token is refused when an operator deletes it or corrupts the stored object', async (t) => {
  const { make, alice, other, bothAnswer, edit, remove } = await start(t);
  for (const spec of [{ secrets: 'none' }, { tenant: 'globex' }]) {
    const { secret, name } = await make(alice, 'read');
    await bothAnswer(secret, 200);
    edit(name, spec);
    await bothAnswer(secret, 401);
  }
  const { secret, name } = await make(alice, 'read');
  await bothAnswer(secret, 200);
  const watch = openRequest(other.destination, secret, WATCH);
  await watch.head;
  remove(name);
  t.match(await watch.answered, { status: 200, complete: true });
  await bothAnswer(secret, 401);
});

t.test(
  'rotations at two replicas at once all succeed, are limited in number, and do not undo a revocation',
  async (t) => {
    const { make, rotate, revoke, alice, other, bothAnswer, keystoneToken } = await start(t);
    const { secret, name } = await make(alice, 'read');
    await eventually(async () => (await other.list(alice)).length === 1);
    const [one, two] = await Promise.all([rotate(alice, { name }), other.rotate(alice, { name })]);
    for (const reply of [one, two]) await bothAnswer(madeToken(reply).secret, 200);
    await bothAnswer(secret, 200);
    let last = await rotate(alice, { name });
    while (last.status === 201) last = await rotate(alice, { name });
    t.match(last, { status: 422, body: /8 secrets/ });
    for (const reply of [one, two]) await bothAnswer(madeToken(reply).secret, 200);

    const fresh = await make(alice, 'read');
    await eventually(async () => (await other.list(alice)).length === 2);
    const [rotated] = await Promise.all([
      rotate(alice, { name: fresh.name }),
      other.revoke(alice, fresh.name),
    ]);
    await bothAnswer(fresh.secret, 401);
    if (rotated.status === 201) await bothAnswer(madeToken(rotated).secret, 401);
    t.match(await rotate(alice, { name: fresh.name }), { status: 422, body: /revoked/ });
    t.match(await rotate(alice, { name: 'zzzzzzzz' }), { status: 404 });
    t.match(await revoke(keystoneToken('bob'), name), { status: 404 }, 'another user cannot revoke it');
  },
);

t.test('D430 a typo, an unknown id and a wrong secret get the same response', async (t) => {
  const { make, alice, ask, bothAnswer } = await start(t);
  const { secret, name } = await make(alice, 'read');
  await bothAnswer(secret, 200);
  const typo = `${secret.slice(0, 20)}${secret[20] === 'a' ? 'b' : 'a'}${secret.slice(21)}`;
  const unknown = newSecret('sgt_', systemRandom).text;
  const wrong = newSecret('sgt_', systemRandom, name).text;
  const bodies = await Promise.all(
    [typo, unknown, wrong, newSecret('sgi_', systemRandom).text].map(async (text) => {
      const { status, headers, body } = await ask(text, CONFIGMAPS);
      const { message, reason, code } = JSON.parse(body);
      return { status, message, reason, code, challenge: headers['www-authenticate'] };
    }),
  );
  t.equal(bodies[0]?.status, 401);
  for (const body of bodies) t.same(body, bodies[0]);
});

t.test('D432 a secret is shown once: nothing that is stored, listed or logged contains it', async (t) => {
  const { post, rotate, alice, ask, stored, audited, logged, bothAnswer } = await start(t);
  const reply = await post(alice, { scopes: ['read', '+tokens'] });
  t.equal(reply.headers['cache-control'], 'no-store');
  const { secret, name } = madeToken(reply);
  await bothAnswer(secret, 200);
  const second = madeToken(await rotate(alice, { name })).secret;
  await bothAnswer(second, 200);
  const texts = [
    JSON.stringify(stored(name)),
    (await ask(alice, TOKENS)).body,
    (await ask(secret, `${TOKENS}/${name}`)).body,
    JSON.stringify(await audited()),
    logged.join(''),
  ];
  for (const text of texts) for (const shown of [secret, second]) t.notOk(text.includes(shown.slice(12, 44)));
  t.match(texts[0], createHash('sha256').update(second).digest('hex'));
  t.ok(texts[3]?.includes(name), 'the audit log contains the id');
});

t.test('D425 while the API server is down, known tokens work and an unknown token gets a 503', async (t) => {
  const { make, alice, ask, bothAnswer, apiServer } = await start(t);
  const { secret } = await make(alice, 'read');
  await bothAnswer(secret, 200);
  const unknown = newSecret('sgt_', systemRandom).text;
  t.equal((await ask(unknown, SELF)).status, 401);
  await apiServer.stop();
  await eventually(async () => (await ask(unknown, SELF)).status === 503);
  t.match(await ask(unknown, SELF), { status: 503, body: /TokensUnavailable/ });
  t.match(await ask(secret, SELF), { status: 200 });
  await apiServer.start();
  await make(alice, 'read');
  await eventually(async () => (await ask(unknown, SELF)).status === 401);
  t.match(await ask(secret, CONFIGMAPS), { status: 200 });
});

t.test('the rotations of one user delay no quota review, and no token of another tenant', async (t) => {
  const admission = { bind: '127.0.0.1:0', tls: { certFile: 'tls.crt', keyFile: 'tls.key' } };
  const site = await startTokenStandIn(t, {
    configuration: { admission, quota: { default: { pods: '10' } } },
  });
  const { apiServer, app, authority, make, rotate, keystoneToken } = site;
  const alice = keystoneToken('alice');
  const webhook = createHttpsClient({ port: app.addresses.admission?.port ?? 0, ca: authority.cert });
  t.teardown(webhook.close);
  const isAllowed = async (): Promise<unknown> => {
    const metadata = { name: 'x', namespace: 'default', tenant: 'globex', uid: randomUUID() };
    const object = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { containers: [{ name: 'c', image: 'i' }] },
    };
    const resource = { group: '', version: 'v1', resource: 'pods' };
    const userInfo = { username: 'globex:bob', groups: ['system:authenticated'] };
    const request = {
      uid: randomUUID(),
      operation: 'CREATE',
      resource,
      namespace: 'default',
      userInfo,
      object,
    };
    const review = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request };
    return (await webhook.ask(undefined, '/quota/core/pods', posted(review))).json();
  };
  const allowed = { response: { allowed: true } };
  await eventually(async () => JSON.stringify(await isAllowed()).includes('"allowed":true'));
  const { name } = await make(alice, 'read');
  const isHeld = ({ method = '', url = '' }) => method === 'GET' && url.endsWith(`/accesstokens/${name}`);
  const rotations = Array.from({ length: 400 }, () => {
    apiServer.breakNext('hang', isHeld);
    return rotate(alice, { name }).catch(() => undefined);
  });
  await eventually(() => apiServer.requests.filter(isHeld).length >= 16);
  t.match(await isAllowed(), allowed);
  t.ok(await make(keystoneToken('bob'), 'read'));
  await site.close();
  await Promise.all(rotations);
});

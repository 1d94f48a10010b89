/**
 * Failures of Keystone and of issuers, against the whole program: known users are served, unknown users get a
 * 503 (never a 401, which would make clients discard their tokens), and service recovers by itself.
 */
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { eventually } from '../support/eventually.ts';
import type { Fault } from '../support/keystone/faults.ts';
import { startSigningIssuer } from '../support/oidc/signing-issuer.ts';
import { stonegateCode } from '../support/open-request.ts';
import { isForClient } from '../support/own-questions.ts';
import { type Reply, startStonegate } from '../support/stonegate.ts';

const NAMESPACES = '/api/v1/namespaces';

/** @param keystone settings of `authentication.keystone` */
async function setUp(t: Test, keystone: Record<string, unknown> = {}) {
  const stonegate = await startStonegate(t);
  const { url } = stonegate.keystone;
  await stonegate.configure({
    authentication: { keystone: { url, caFile: 'ca.crt', timeout: '3s', ...keystone } },
  });
  await stonegate.app.reload();
  return stonegate;
}

const outcomeOf = ({ status, body }: Reply) => ({ status, code: stonegateCode(body) });
const UNAVAILABLE = { status: 503, code: 'KeystoneUnavailable' };

t.test(
  'while Keystone fails, new users get a 503, and known users and JWTs are served; then new users are served',
  async (t) => {
    const { ask, app, keystone, keystoneToken, provider, apiServer, logged } = await setUp(t);
    const known = keystoneToken('alice');
    const carol = await provider.idToken('carol');
    t.equal((await ask(known, NAMESPACES)).status, 200);
    const faults: Fault[] = [
      ...(['hang', 'reset', 'half-body', 'html', 'garbage', 'wrong-shape'] as const),
      ...(['other-token', 'endless', 'redirect', 'error', 'front-end-404'] as const),
    ];
    for (const fault of faults) {
      const token = keystoneToken('bob');
      const before = apiServer.requests.filter(isForClient).length;
      keystone.fault = fault;
      const refused = await ask(token, NAMESPACES);
      t.same(outcomeOf(refused), UNAVAILABLE, fault);
      t.match(refused.headers, { 'content-type': 'application/json', 'audit-id': /.+/ });
      t.equal(refused.headers['retry-after'], undefined, 'kubectl would retry without a message');
      t.equal(refused.headers['www-authenticate'], undefined);
      t.equal(apiServer.requests.filter(isForClient).length, before, 'nothing reaches the API server');
      t.equal((await ask(known, NAMESPACES)).status, 200, `${fault}: cached users are served`);
      t.equal((await ask(carol, NAMESPACES)).status, 200, `${fault}: users of an OIDC issuer are served`);
      keystone.release();
      keystone.fault = undefined;
      t.equal((await ask(token, NAMESPACES)).status, 200, `${fault}: nothing of the failure was cached`);
      t.notOk(logged.join('').includes(token), 'the log contains no token');
    }
    t.match(await app.metrics.text(), 'stonegate_refusals_total{code="KeystoneUnavailable"} 11');
  },
);

t.test(
  'if an issuer is down at start, its users get a 503 until it is up, and other users are served',
  async (t) => {
    const issuer = await startSigningIssuer();
    t.teardown(() => issuer.down());
    await issuer.down();
    const jwt = parse(`
      - issuer: {url: ${issuer.url}, audiences: [kubernetes]}
        claimMappings: {username: {claim: email, prefix: 'late:'}}
        tenant: {value: acme}`);
    const configuration = { authentication: { jwt } };
    const stonegate = await startStonegate(t, { configuration });
    const { ask, keystoneToken } = stonegate;
    const claims = { aud: 'kubernetes', email: 'dave@late.example', email_verified: true };
    const token = await issuer.sign(claims);
    t.same(outcomeOf(await ask(token, NAMESPACES)), { status: 503, code: 'IssuerUnavailable' });
    t.equal((await ask(keystoneToken('alice'), NAMESPACES)).status, 200);
    await issuer.up();
    await eventually(async () => (await ask(token, NAMESPACES)).status !== 503);
    t.match((await ask(token, NAMESPACES)).json().message, 'User "acme:late:dave@late.example"');
  },
);

t.test(
  'while an issuer is down, its users are served, but a token with an unknown key gets a 503, not a 401',
  async (t) => {
    const { ask, provider, app } = await setUp(t);
    const carol = await provider.idToken('carol');
    t.equal((await ask(carol, NAMESPACES)).status, 200);
    await provider.rotateKeys();
    const rotated = await provider.idToken('carol');
    await provider.down();
    t.same(outcomeOf(await ask(rotated, NAMESPACES)), { status: 503, code: 'IssuerUnavailable' });
    t.equal((await ask(carol, NAMESPACES)).status, 200);
    t.equal(app.readiness().find(({ name }) => name === 'authentication')?.reason, undefined, 'still ready');
    await provider.up();
    await eventually(async () => (await ask(rotated, NAMESPACES)).status === 200);
  },
);

import { createHmac } from 'node:crypto';
import { CompactSign, exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose';
import t, { type Test } from 'tap';
import type { JWTConfiguration } from '../../../../src/config/core-configuration.ts';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createJWTAuthenticator } from '../../../../src/identity/jwt/jwt.ts';
import { readJWT } from '../../../../src/identity/jwt/jwt-parser.ts';
import { DiscoveredIssuerKeys } from '../../../../src/identity/oidc/oidc-issuer-keys.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { directKeys, ISSUER, jwtConfiguration } from '../../../support/oidc/jwt-configuration.ts';
import { startSigningIssuer } from '../../../support/oidc/signing-issuer.ts';

const clock = createFakeClock(1_800_000_000_000);
const NOW = 1_800_000_000;
const CONTEXT = { source: '192.0.2.1' };
const CAROL = { sub: 'carol', aud: 'kubernetes', exp: NOW + 600 };
const SEVERAL = { ...CAROL, aud: ['account', 'kubernetes'] };

const issuer = await startSigningIssuer({ url: ISSUER });
t.teardown(() => issuer.down());

function authenticatorWith(changes: Partial<JWTConfiguration> = {}, keys = directKeys(issuer)) {
  return createJWTAuthenticator({ issuers: [{ configuration: jwtConfiguration(changes), keys }], clock });
}

const authenticator = authenticatorWith();

async function login(token: string, by = authenticator) {
  return by.authenticate({ kind: 'bearer', token }, CONTEXT);
}

function encode(value: unknown) {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

const keysOf = (...keys: JSONWebKeySet['keys']) => ({ keys: async () => ({ keys }) });

/** The message is bare, since the client must not learn the reason (C028). */
async function refused(t: Test, token: string, by = authenticator, what = '') {
  await t.rejects(
    login(token, by),
    { code: 'CredentialInvalid', message: 'Unauthorized', details: undefined },
    what,
  );
}

t.test('a token that is not a JWT, or from another issuer, is left to the next authenticator', async (t) => {
  const others = [
    'gAAAAABabc',
    'a.b.c',
    `${encode('[]')}.${encode(CAROL)}.AA`,
    `${encode({ alg: 'ES256' })}.${encode('{"iss":')}.AA`,
    await issuer.sign({ ...CAROL, iss: 'kubernetes/serviceaccount' }),
    await issuer.sign({ ...CAROL, iss: undefined }),
    await issuer.sign({ ...CAROL, iss: `${ISSUER}/` }),
    await issuer.sign({ ...CAROL, iss: [ISSUER] }),
    await issuer.sign({ ...CAROL, padding: 'x'.repeat(64 * 1024) }),
  ];
  for (const token of others) t.equal(await login(token), undefined);
  const token = await issuer.sign(CAROL);
  t.equal(await authenticator.authenticate({ kind: 'x-auth-token', token }, CONTEXT), undefined);
});

t.test('C028 tokens are accepted or refused by their claims and headers', async (t) => {
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const cases = [
    [false, { ...CAROL, aud: 'other' }],
    [false, { ...CAROL, aud: ['other', 'another'] }],
    [false, { ...CAROL, aud: undefined }],
    [true, SEVERAL],
    [true, { ...SEVERAL, azp: 'kubernetes' }],
    [false, { ...SEVERAL, azp: 'account' }],
    [false, { ...SEVERAL, azp: 7 }],
    [true, { ...CAROL, exp: NOW + 1 }],
    [false, { ...CAROL, exp: NOW }],
    [false, { ...CAROL, exp: undefined }],
    [false, { ...CAROL, exp: 'soon' }],
    [false, { ...CAROL, exp: null }],
    [true, { ...CAROL, nbf: NOW + 30 }],
    [false, { ...CAROL, nbf: NOW + 31 }],
    [false, { ...CAROL, events }],
    [true, { ...CAROL, a: { sub: 1 }, b: [{ sub: 1 }, { sub: 2 }], c: '"sub":"x","sub":"y"' }],
    ...['JWT', 'at+jwt', 'application/at+jwt'].map((typ) => [true, CAROL, { typ }] as const),
    ...['logout+jwt', 'dpop+jwt', ''].map((typ) => [false, CAROL, { typ }] as const),
  ] as const;
  for (const [accepted, claims, header] of cases) {
    const token = await issuer.sign({ ...claims }, header);
    const what = JSON.stringify([claims, header]);
    if (accepted) t.ok(await login(token), what);
    else await refused(t, token, authenticator, what);
  }
  const far = await login(await issuer.sign({ ...CAROL, exp: 9e15 }));
  t.equal(far?.expiresAt, Number.MAX_SAFE_INTEGER, 'the expiry is a safe integer');
});

t.test('an expiry that is too large for a number is refused', async (t) => {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const by = authenticatorWith({}, keysOf(await exportJWK(publicKey)));
  const tokenWith = (exp: string) =>
    new CompactSign(Buffer.from(`{"iss":"${ISSUER}","aud":"kubernetes","sub":"carol","exp":${exp}}`))
      .setProtectedHeader({ alg: 'ES256' })
      .sign(privateKey);
  t.ok(await login(await tokenWith(`${NOW + 600}`), by));
  await refused(t, await tokenWith('1e400'), by);
});

t.test('only the allowed asymmetric algorithms are accepted', async (t) => {
  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
    const other = await startSigningIssuer({ url: ISSUER, algorithm });
    t.ok(await login(await other.sign(CAROL), authenticatorWith({}, directKeys(other))), algorithm);
    await other.down();
  }
  await refused(t, await issuer.sign(CAROL), authenticatorWith({ algorithms: ['RS256'] }));
});

t.test('forged tokens are refused', async (t) => {
  const claims = encode({ ...CAROL, iss: ISSUER });
  await refused(t, `${encode({ alg: 'none' })}.${claims}.AA`);
  const [key] = issuer.keys;
  const signed = `${encode({ alg: 'HS256', kid: key?.kid })}.${claims}`;
  for (const secret of [JSON.stringify(key), String(key?.x)]) {
    const mac = createHmac('sha256', secret).update(signed).digest('base64url');
    await refused(t, `${signed}.${mac}`);
  }
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwk = await exportJWK(publicKey);
  const own = await new SignJWT({ ...CAROL, iss: ISSUER })
    .setProtectedHeader({ alg: 'ES256', jwk, kid: 'key-1' })
    .sign(privateKey);
  await refused(t, own, authenticator, 'a key in the header is not trusted');
  const [header, payload, signature] = (await issuer.sign(CAROL)).split('.');
  await refused(t, `${header}.${encode({ ...CAROL, iss: ISSUER, sub: 'admin' })}.${signature}`);
  await refused(t, `${encode({ alg: 'ES256', crit: ['exp'], exp: 1 })}.${payload}.${signature}`);
});

t.test('a token that names no key may be signed with any key of the issuer', async (t) => {
  const [rsa, other] = [await startSigningIssuer({ algorithm: 'RS256' }), await startSigningIssuer()];
  const { kid: _, ...nameless } = { ...issuer.keys[0] };
  const token = await issuer.sign(CAROL, { kid: undefined });
  for (const keys of [[nameless], [...rsa.keys, ...other.keys, ...issuer.keys]])
    t.ok(await login(token, authenticatorWith({}, keysOf(...JSON.parse(JSON.stringify(keys))))));
  await refused(t, token, authenticatorWith({}, keysOf(...rsa.keys, ...other.keys)));
  await Promise.all([rsa.down(), other.down()]);
});

t.test('no token is accepted by an unusable key of the issuer', async (t) => {
  const token = await issuer.sign(CAROL);
  for (const change of [{ x: 'AA' }, { y: 7 }, { crv: 'P-521' }]) {
    const keys = JSON.parse(JSON.stringify([{ ...issuer.keys[0], ...change }]));
    await refused(t, token, authenticatorWith({}, keysOf(...keys)), JSON.stringify(change));
  }
});

t.test('a token that has a member twice is refused, however it is escaped', async (t) => {
  const header = encode({ alg: 'ES256', kid: 'key-1' });
  const start = `{"iss":"${ISSUER}","aud":"kubernetes","exp":${NOW + 600}`;
  for (const rest of [
    ',"sub":"carol","sub":"admin"}',
    ',"sub":"carol","s\\u0075b" \n\t :"admin"}',
    ',"sub":"carol","deep":[{"a":[{}],"b":"\\\\","b":1}]}',
  ])
    await refused(t, `${header}.${encode(start + rest)}.AA`);
  await refused(t, `${encode('{"alg":"none","alg":"ES256"}')}.${encode(`${start}}`)}.AA`);
});

t.test('claims that are nested too deeply are refused', async (t) => {
  const header = encode({ alg: 'ES256' });
  const nested = (depth: number) => `{"iss":"a","x":${'['.repeat(depth - 1)}"]"${']'.repeat(depth - 1)}}`;
  t.ok(readJWT(`${header}.${encode(nested(10_000))}.AA`));
  t.notOk(readJWT(`${header}.${encode(nested(10_001))}.AA`));
});

t.test('if the keys of the issuer are unavailable, the response is 503, never 401', async (t) => {
  const keys = { keys: () => Promise.reject(new StatusError('IssuerUnavailable', 'down')) };
  const by = authenticatorWith({}, keys);
  await t.rejects(login(await issuer.sign(CAROL), by), { code: 'IssuerUnavailable' });
});

t.test('a cached token is verified again after the keys of its issuer have changed', async (t) => {
  let keys = directKeys(issuer);
  const by = authenticatorWith({}, { keys: (kid) => keys.keys(kid) });
  const token = await issuer.sign({ ...CAROL, exp: NOW + 6_000 });
  t.equal(await login(token, by), await login(token, by));
  keys = keysOf();
  await refused(t, token, by);
});

t.test('the verification of a token is cached for a minute, but not beyond its expiry', async (t) => {
  const [short, long] = [await issuer.sign({ ...CAROL, exp: NOW + 30 }), await issuer.sign(CAROL)];
  const [first, second] = [await login(short), await login(long)];
  clock.advance(29_999);
  t.equal(await login(short), first);
  clock.advance(1);
  await refused(t, short);
  t.equal(await login(long), second);
  clock.advance(30_000);
  t.not(await login(long), second, 'it is verified again');
});

t.test(
  'a key that changes without another key id is accepted at once, and forged signatures fetch no more',
  async (t) => {
    for (const hasKid of [true, false]) {
      const other = await startSigningIssuer();
      const keys = new DiscoveredIssuerKeys({
        url: other.url,
        ownKeys: true,
        maxAge: 3_600_000,
        refreshInterval: 10_000,
        timeout: 5_000,
        clock,
        random: { bytes: Buffer.alloc, uuid: () => '', fraction: () => 0 },
        logger: silentLogger,
        telemetry: noTelemetry,
      });
      t.teardown(() => Promise.all([keys.close(), other.down()]));
      const by = authenticatorWith({ issuer: { url: other.url, audiences: ['kubernetes'] } }, keys);
      const kid = hasKid ? 'key-1' : undefined;
      const publish = () => other.publish({ keys: other.keys.map((key) => ({ ...key, kid })) });
      publish();
      t.ok(await login(await other.sign(CAROL, { kid }), by));
      await other.rotate('key-1');
      publish();
      const token = await other.sign(CAROL, { kid });
      const before = other.requests.keys;
      t.ok(await login(token, by));
      const [header, , signature] = token.split('.');
      const forged = (sub: string) => `${header}.${encode({ ...CAROL, iss: other.url, sub })}.${signature}`;
      for (let at = 0; at < 20; at += 1) await refused(t, forged(`admin-${at}`), by);
      t.equal(other.requests.keys, before + 1);
      clock.advance(10_000);
      await refused(t, forged('admin'), by);
      t.equal(other.requests.keys, before + 2);
    }
  },
);

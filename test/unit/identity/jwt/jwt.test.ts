import { createHmac } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import t, { type Test } from 'tap';
import type { JWTConfiguration } from '../../../../src/config/configuration.ts';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { Authenticator } from '../../../../src/identity/authenticator.ts';
import { createJWTAuthenticator } from '../../../../src/identity/jwt/jwt.ts';
import { readJWT } from '../../../../src/identity/jwt/jwt-parser.ts';
import type { IssuerKeys } from '../../../../src/identity/ports.ts';
import type { Identity } from '../../../../src/tenancy/identity.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { directKeys, ISSUER, jwtConfiguration } from '../../../support/oidc/jwt-configuration.ts';
import { startSigningIssuer } from '../../../support/oidc/signing-issuer.ts';

const clock = createFakeClock(1_800_000_000_000);
const NOW = 1_800_000_000;
const CONTEXT = { source: '192.0.2.1' };
const CAROL = { sub: 'carol', aud: 'kubernetes', exp: NOW + 600 };

const issuer = await startSigningIssuer({ url: ISSUER });
t.teardown(() => issuer.down());

function authenticatorWith(
  changes: Partial<JWTConfiguration> = {},
  keys = directKeys(issuer),
): Authenticator {
  return createJWTAuthenticator({ issuers: [{ configuration: jwtConfiguration(changes), keys }], clock });
}

const authenticator = authenticatorWith();

async function login(token: string, by = authenticator): Promise<Identity | undefined> {
  return by.authenticate({ kind: 'bearer', token }, CONTEXT);
}

function encode(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

/** A bare message: a refusal does not tell the client the reason (C028). */
async function refused(t: Test, token: string, by = authenticator): Promise<void> {
  await t.rejects(login(token, by), {
    code: 'CredentialInvalid',
    message: 'Unauthorized',
    details: undefined,
  });
}

t.test('a genuine token is its holder', async (t) => {
  t.match(await login(await issuer.sign(CAROL)), {
    authenticator: 'jwt',
    subject: { kind: 'claim', name: 'oidc:carol' },
    tenantOrigin: { from: 'issuer', tenant: 'acme' },
    expiresAt: (NOW + 600) * 1_000,
  });
});

t.test('what is no JWT, or another issuer’s, is left to the next authenticator', async (t) => {
  const others = [
    'gAAAAABabc',
    'a.b',
    'a.b.c',
    'a.b.c.d.e',
    `${encode('[]')}.${encode(CAROL)}.AA`,
    `${encode({ alg: 'ES256' })}.${encode('["x"]')}.AA`,
    `${encode({ alg: 'ES256' })}.${encode('{"iss":')}.AA`,
    `${encode({ alg: 'ES256' })}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.AA`,
    await issuer.sign({ ...CAROL, iss: 'kubernetes/serviceaccount' }),
    await issuer.sign({ ...CAROL, iss: undefined }),
    await issuer.sign({ ...CAROL, iss: `${ISSUER}/` }),
    await issuer.sign({ ...CAROL, iss: [ISSUER] }),
  ];
  for (const token of others) t.equal(await login(token), undefined);
});

t.test('X-Auth-Token is never a JWT', async (t) => {
  const token = await issuer.sign(CAROL);
  t.equal(await authenticator.authenticate({ kind: 'x-auth-token', token }, CONTEXT), undefined);
});

t.test('a token longer than 64 KiB is not read', async (t) => {
  t.equal(await login(await issuer.sign({ ...CAROL, padding: 'x'.repeat(64 * 1024) })), undefined);
});

t.test('C028 a token for another audience is refused with a bare 401', async (t) => {
  await refused(t, await issuer.sign({ ...CAROL, aud: 'other' }));
  await refused(t, await issuer.sign({ ...CAROL, aud: ['other', 'another'] }));
  await refused(t, await issuer.sign({ ...CAROL, aud: undefined }));
});

t.test('C028 a token is dead at the very second it expires', async (t) => {
  await refused(t, await issuer.sign({ ...CAROL, exp: NOW }));
  await refused(t, await issuer.sign({ ...CAROL, exp: NOW - 1 }));
  t.ok(await login(await issuer.sign({ ...CAROL, exp: NOW + 1 })));
});

t.test('a token without an end, or with one that is no number, is refused', async (t) => {
  await refused(t, await issuer.sign({ ...CAROL, exp: undefined }));
  await refused(t, await issuer.sign({ ...CAROL, exp: 'soon' }));
  await refused(t, await issuer.sign({ ...CAROL, exp: null }));
});

t.test('a token of the far future has an end that can be counted', async (t) => {
  const identity = await login(await issuer.sign({ ...CAROL, exp: 9e15 }));
  t.equal(identity?.expiresAt, Number.MAX_SAFE_INTEGER);
});

t.test('a token that is not yet valid is refused, save for clocks that differ a little', async (t) => {
  t.ok(await login(await issuer.sign({ ...CAROL, nbf: NOW + 30 })));
  await refused(t, await issuer.sign({ ...CAROL, nbf: NOW + 31 }));
});

t.test(
  'the authorized party of a token for several audiences must be one of the configured audiences',
  async (t) => {
    const several = { ...CAROL, aud: ['account', 'kubernetes'] };
    t.ok(await login(await issuer.sign(several)));
    t.ok(await login(await issuer.sign({ ...several, azp: 'kubernetes' })));
    await refused(t, await issuer.sign({ ...several, azp: 'account' }));
    await refused(t, await issuer.sign({ ...several, azp: 7 }));
  },
);

t.test('each of several configured audiences is accepted', async (t) => {
  const by = authenticatorWith({ issuer: { url: ISSUER, audiences: ['kubernetes', 'api://cluster'] } });
  t.ok(await login(await issuer.sign({ ...CAROL, aud: 'api://cluster' }), by));
  t.ok(await login(await issuer.sign(CAROL), by));
});

t.test('every asymmetric algorithm that is allowed is accepted', async (t) => {
  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
    const other = await startSigningIssuer({ url: ISSUER, algorithm });
    t.ok(await login(await other.sign(CAROL), authenticatorWith({}, directKeys(other))), algorithm);
    await other.down();
  }
});

t.test('an algorithm that is not allowed is refused', async (t) => {
  await refused(t, await issuer.sign(CAROL), authenticatorWith({ algorithms: ['RS256'] }));
});

t.test('a configuration that allows no asymmetric algorithm makes no authenticator', async (t) => {
  t.throws(() => authenticatorWith({ algorithms: ['HS256', 'none'] }), /no asymmetric algorithm/);
});

t.test('an issuer configured twice makes no authenticator', async (t) => {
  const one = { configuration: jwtConfiguration(), keys: directKeys(issuer) };
  t.throws(() => createJWTAuthenticator({ issuers: [one, one], clock }), /configured twice/);
});

t.test('a token without a signature is refused', async (t) => {
  const claims = encode({ ...CAROL, iss: ISSUER });
  await refused(t, `${encode({ alg: 'none' })}.${claims}.AA`);
});

t.test('a token signed with the public key as a shared secret is refused', async (t) => {
  const [key] = issuer.keys;
  const signed = `${encode({ alg: 'HS256', kid: key?.kid })}.${encode({ ...CAROL, iss: ISSUER })}`;
  for (const secret of [JSON.stringify(key), String(key?.x)]) {
    const mac = createHmac('sha256', secret).update(signed).digest('base64url');
    await refused(t, `${signed}.${mac}`, authenticatorWith({ algorithms: ['ES256', 'HS256'] }));
  }
});

t.test('a token that contains its own key is refused', async (t) => {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwk = await exportJWK(publicKey);
  const token = await new SignJWT({ ...CAROL, iss: ISSUER })
    .setProtectedHeader({ alg: 'ES256', jwk, kid: 'key-1' })
    .sign(privateKey);
  await refused(t, token);
});

t.test('a token changed after signing is refused', async (t) => {
  const [header, , signature] = (await issuer.sign(CAROL)).split('.');
  await refused(t, `${header}.${encode({ ...CAROL, iss: ISSUER, sub: 'admin' })}.${signature}`);
});

t.test('a token without key id is accepted if the issuer has only one key', async (t) => {
  const { kid: _, ...key } = { ...issuer.keys[0] };
  const keys: IssuerKeys = { initialized: true, keys: async () => ({ keys: [key] }) };
  t.ok(await login(await issuer.sign(CAROL, { kid: undefined }), authenticatorWith({}, keys)));
});

t.test('a token naming no key may be signed with any key of the issuer', async (t) => {
  const other = await startSigningIssuer();
  const keys: IssuerKeys = {
    initialized: true,
    keys: async () => ({ keys: [...other.keys, ...issuer.keys] }),
  };
  t.ok(await login(await issuer.sign(CAROL, { kid: undefined }), authenticatorWith({}, keys)));
  await other.down();
});

t.test('a token with unknown critical header parameters is refused', async (t) => {
  const [, payload, signature] = (await issuer.sign(CAROL)).split('.');
  const header = encode({ alg: 'ES256', crit: ['exp'], exp: 1 });
  await refused(t, `${header}.${payload}.${signature}`);
});

t.test('ID tokens and access tokens are accepted, other types of the issuer refused', async (t) => {
  for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/at+jwt']) {
    t.ok(await login(await issuer.sign(CAROL, { typ })), typ);
  }
  for (const typ of ['logout+jwt', 'dpop+jwt', 'token-introspection+jwt', '']) {
    await refused(t, await issuer.sign(CAROL, { typ }));
  }
});

t.test('a logout token that does not call itself one is refused', async (t) => {
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  await refused(t, await issuer.sign({ ...CAROL, events }));
});

t.test('a token that names a member twice is refused, however it is spelled', async (t) => {
  const header = encode({ alg: 'ES256', kid: 'key-1' });
  const start = `{"iss":"${ISSUER}","aud":"kubernetes","exp":${NOW + 600}`;
  for (const rest of [
    ',"sub":"carol","sub":"admin"}',
    ',"sub":"carol","s\\u0075b" \n\t :"admin"}',
    ',"sub":"carol","deep":[{"a":[{}],"b":"\\\\","b":1}]}',
  ]) {
    await refused(t, `${header}.${encode(start + rest)}.AA`);
  }
  await refused(t, `${encode('{"alg":"none","alg":"ES256"}')}.${encode(`${start}}`)}.AA`);
});

t.test('a header that names a member twice is refused also if claims may', async (t) => {
  const header = encode('{"alg":"ES256","kid":"key-1","kid":"key-1"}');
  t.notOk(readJWT(`${header}.${encode({ iss: ISSUER })}.AA`)?.unambiguousHeader);
  const claims = encode('{"iss":"a","iss":"b"}');
  t.ok(readJWT(`${encode({ alg: 'ES256' })}.${claims}.AA`)?.unambiguousHeader);
});

t.test('claims that are nested more deeply than the API server reads them make no user', async (t) => {
  const header = encode({ alg: 'ES256' });
  const nested = (depth: number) => `{"iss":"a","x":${'['.repeat(depth - 1)}"]"${']'.repeat(depth - 1)}}`;
  t.ok(readJWT(`${header}.${encode(nested(10_000))}.AA`));
  t.notOk(readJWT(`${header}.${encode(nested(10_001))}.AA`));
});

t.test(
  'members of the same name in different objects, and text that looks like members, are no repetition',
  async (t) => {
    const claims = {
      a: { sub: 1, exp: 2 },
      b: [{ sub: 1 }, { sub: 2 }],
      c: '"sub":"x","sub":"y"',
      d: ['sub', 'sub'],
    };
    t.ok(await login(await issuer.sign({ ...CAROL, ...claims })));
  },
);

t.test('an issuer whose keys cannot be had is a 503, never a 401', async (t) => {
  const keys: IssuerKeys = {
    initialized: false,
    keys: () => Promise.reject(new StatusError('IssuerUnavailable', 'down')),
  };
  await t.rejects(login(await issuer.sign(CAROL), authenticatorWith({}, keys)), {
    code: 'IssuerUnavailable',
  });
});

t.test('keys that are garbage make no token genuine', async (t) => {
  const token = await issuer.sign(CAROL);
  const [key] = issuer.keys;
  for (const bad of [
    { ...key, x: 'AA' },
    { ...key, y: 7 },
    { ...key, crv: 'P-521' },
  ]) {
    const keys: IssuerKeys = {
      initialized: true,
      keys: () => Promise.resolve(JSON.parse(JSON.stringify({ keys: [bad] }))),
    };
    await refused(t, token, authenticatorWith({}, keys));
  }
});

t.test('a cached token is verified again after its issuer’s keys have changed', async (t) => {
  const known = directKeys(issuer);
  let asked: (string | undefined)[] = [];
  let keys = known;
  const by = authenticatorWith(
    {},
    {
      initialized: true,
      keys: (kid) => {
        asked.push(kid);
        return keys.keys(kid);
      },
    },
  );
  const token = await issuer.sign({ ...CAROL, exp: NOW + 6_000 });
  await login(token, by);
  t.same(asked, ['key-1']);
  asked = [];
  t.match(await login(token, by), { subject: { name: 'oidc:carol' } });
  t.same(asked, ['key-1'], 'the key set is still asked for, since it may have changed');
  keys = { initialized: true, keys: async () => ({ keys: [] }) };
  await refused(t, token, by);
});

t.test('the claims of a token are mapped once, also if they are refused', async (t) => {
  const strict = authenticatorWith({ claimValidationRules: [{ expression: 'claims.sub == "dave"' }] });
  const carol = await issuer.sign(CAROL);
  const refusals: unknown[] = [];
  for (let time = 0; time < 2; time += 1)
    await login(carol, strict).catch((error: unknown) => refusals.push(error));
  t.match(refusals, [{ code: 'CredentialInvalid' }, { code: 'CredentialInvalid' }]);
  t.equal(refusals[0], refusals[1]);
  t.equal(await login(carol), await login(carol));
});

t.test('a verified token is forgotten after a minute, and at the very second it expires', async (t) => {
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

import t, { type Test } from 'tap';
import { createOidcLogin } from '../../../../src/identity/oidc/oidc-login.ts';
import type { OidcLoginOptions } from '../../../../src/identity/oidc/oidc-provider.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import {
  type Said,
  type ScriptedProvider,
  startScriptedProvider,
} from '../../../support/oidc/scripted-provider.ts';

const REDIRECT = 'http://127.0.0.1:8000/';

async function scene(t: Test, metadata: Record<string, unknown> = {}) {
  const provider = await startScriptedProvider();
  t.teardown(() => provider.close());
  Object.assign(provider.metadata, metadata);
  return {
    provider,
    async login(changes: Partial<OidcLoginOptions> = {}) {
      const login = await createOidcLogin({
        issuer: provider.issuer,
        clientID: 'kubernetes',
        scopes: [],
        extraParameters: {},
        clock: systemClock,
        signal: new AbortController().signal,
        ...changes,
      });
      t.teardown(() => login.close());
      return login;
    },
  };
}

/** A login after the redirect with a valid code, for which the provider responds with `said`. */
async function redeemed(t: Test, said: (nonce: string, provider: ScriptedProvider) => Said) {
  const { provider, login } = await scene(t);
  const begun = await (await login()).beginCode(REDIRECT);
  const nonce = new URL(begun.url).searchParams.get('nonce') ?? '';
  provider.tokenAnswers = [said(nonce, provider)];
  return begun.redeem(new URL(`${REDIRECT}?code=c&state=${begun.state}`));
}

const ok = (idToken: string | undefined) => ({
  body: { access_token: 'a', token_type: 'Bearer', ...(idToken && { id_token: idToken }) },
});

t.test('a code is exchanged for the ID token, its expiry and the refresh token', async (t) => {
  const exp = Math.floor(Date.now() / 1_000) + 60;
  const tokens = await redeemed(t, (nonce, { idToken }) => ({
    body: { ...Object(ok(idToken({ nonce, exp })).body), refresh_token: 'r' },
  }));
  t.match(tokens, { idToken: /^ey/, expiresAt: exp * 1_000, refreshToken: 'r' });
});

t.test('an ID token of another login or for another client is refused', async (t) => {
  const now = Math.floor(Date.now() / 1_000);
  const wrong: Record<string, [Record<string, unknown>, RegExp]> = {
    'another nonce': [{ nonce: 'another' }, /nonce/],
    'another audience': [{ aud: 'another' }, /aud/],
    'another issuer': [{ iss: 'https://another.example' }, /iss/],
    'two audiences for another client': [{ aud: ['kubernetes', 'another'], azp: 'another' }, /azp/],
    'an expired ID token': [{ iat: now - 7_200, exp: now - 3_600 }, /is the clock of this computer right\?$/],
    'an ID token that is not valid yet': [{ nbf: now + 3_600 }, /and this computer's clock says \d{4}-/],
  };
  for (const [name, [claims, message]] of Object.entries(wrong)) {
    const tokens = redeemed(t, (nonce, { idToken }) => ok(idToken({ nonce, ...claims })));
    await t.rejects(tokens, { kind: 'invalid', message }, name);
  }
});

t.test('a redirect with the response of another login is refused', async (t) => {
  const { login, provider } = await scene(t, { authorization_response_iss_parameter_supported: true });
  const begun = await (await login()).beginCode(REDIRECT);
  const iss = encodeURIComponent(provider.issuer);
  const wrong: Record<string, [string, RegExp]> = {
    'another state': [`code=c&state=another&iss=${iss}`, /state/],
    'another provider': [`code=c&state=${begun.state}&iss=https://another.example`, /iss/],
    'no issuer, although the provider announces one': [`code=c&state=${begun.state}`, /iss/],
  };
  for (const [name, [query, message]] of Object.entries(wrong))
    await t.rejects(begun.redeem(new URL(`${REDIRECT}?${query}`)), { kind: 'invalid', message }, name);
  t.same(provider.asked, [], 'no code was redeemed');
});

t.test('the error contains the reason of the provider', async (t) => {
  const cases: [string, Said, { kind?: string; code?: string; message: RegExp }][] = [
    [
      'with an error and its description',
      { status: 400, body: { error: 'invalid_grant', error_description: 'Session not active' } },
      { kind: 'refused', code: 'invalid_grant', message: /any more \(invalid_grant: Session not active\)$/ },
    ],
    [
      'with a challenge',
      { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' }, body: { error: 'invalid_client' } },
      { kind: 'refused', code: 'invalid_client', message: /check its id and its secret/ },
    ],
    [
      'with an error of the provider itself',
      { status: 400, body: { error: 'temporarily_unavailable' } },
      { kind: 'unavailable', message: /not available at the moment/ },
    ],
    ['with a status alone', { status: 502, body: 'x' }, { kind: 'unavailable', message: /with status 502$/ }],
    [
      'a redirect',
      { status: 302, headers: { location: '/token' }, body: '' },
      { kind: 'invalid', message: /status 302$/ },
    ],
    ['no ID token', ok(undefined), { kind: 'invalid', message: /ID token|id_token/ }],
  ];
  for (const [name, said, expected] of cases)
    await t.rejects(
      redeemed(t, () => said),
      expected,
      name,
    );
});

t.test('text from the provider is cut to one short line without tokens', async (t) => {
  const description = `a\u001b[2J\u0007 b\u202e\n${'x'.repeat(1_000)} eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln`;
  const error = await redeemed(t, () => ({
    status: 400,
    body: { error: 'invalid_grant', error_description: description },
  })).then(t.fail, (reason: Error) => reason.message);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
  t.notMatch(error, /[\u0000-\u001f\u202e]/);
  t.notMatch(error, 'eyJ');
  t.ok(String(error).length < 500);
});

t.test('a provider with plain http endpoints is refused', async (t) => {
  const { provider, login } = await scene(t, {
    token_endpoint: 'http://login.example.com/token',
    authorization_endpoint: 'http://login.example.com/auth',
  });
  const message = /the address must be https, not http:\/\/login\.example\.com/;
  const client = await login();
  await t.rejects(client.beginCode(REDIRECT), { message });
  await t.rejects(client.refresh('r', provider.idToken()), { message });
});

t.test('the requested scopes always include openid', async (t) => {
  const cases = [
    [undefined, [], 'openid profile email'],
    [['openid', 'email', 'offline_access'], ['email', 'groups'], 'openid email offline_access groups'],
  ] as const;
  for (const [scopes_supported, scopes, expected] of cases) {
    const { login } = await scene(t, { scopes_supported });
    const { url } = await (await login({ scopes })).beginCode(REDIRECT);
    t.equal(new URL(url).searchParams.get('scope'), expected);
  }
});

t.test('the client secret is sent by a method that the provider supports', async (t) => {
  const send = async (methods: unknown) => {
    const { provider, login } = await scene(t, { token_endpoint_auth_methods_supported: methods });
    provider.tokenAnswers = [ok(provider.idToken())];
    await (await login({ clientSecret: 's' })).refresh('r', provider.idToken());
    return provider.asked[0];
  };
  const basic = `Basic ${Buffer.from('kubernetes:s').toString('base64')}`;
  t.equal((await send(undefined))?.headers.authorization, basic);
  const posted = await send(['client_secret_post']);
  t.equal(posted?.headers.authorization, undefined);
  t.equal(posted?.form.get('client_secret'), 's');
});

t.test('a renewal', async (t) => {
  const { provider, login } = await scene(t);
  const client = await login();

  t.test('uses the old refresh token if the provider sends no new one', async (t) => {
    provider.tokenAnswers = [ok(provider.idToken())];
    t.match(await client.refresh('old', provider.idToken()), { refreshToken: 'old' });
  });

  t.test('refuses the ID token of another user', async (t) => {
    provider.tokenAnswers = [ok(provider.idToken({ sub: 'mallory' }))];
    await t.rejects(client.refresh('r', provider.idToken()), {
      kind: 'invalid',
      message: /the renewed ID token is about another user/,
    });
  });

  t.test('is refused if the user of the previous ID token is unknown', async (t) => {
    provider.tokenAnswers = [ok(provider.idToken())];
    await t.rejects(client.refresh('r', 'a.b.c'), { kind: 'invalid', message: /another user/ });
  });
});

const error = (name: string) => ({ status: 400, body: { error: name } });

async function deviceLogin(t: Test, answer: Record<string, unknown> = {}) {
  const { provider, login } = await scene(t);
  provider.deviceAnswer = { body: { ...Object(provider.deviceAnswer.body), ...answer } };
  const pauses: number[] = [];
  const clock = createFakeClock();
  const pause = async (milliseconds: number) => pauses.push(milliseconds);
  const begin = async () => (await login({ clock, pause })).beginDevice();
  return { provider, pauses, clock, begin, tokens: ok(provider.idToken()) };
}

t.test(
  'a device login polls every five seconds, and more slowly if the provider says slow_down',
  async (t) => {
    const { provider, pauses, begin, tokens } = await deviceLogin(t);
    const pending = error('authorization_pending');
    provider.tokenAnswers = [pending, error('slow_down'), pending, error('slow_down'), tokens];
    const login = await begin();
    t.match(await login.wait(), { idToken: /^ey/ });
    t.same(pauses, [5_000, 5_000, 10_000, 10_000, 15_000]);
  },
);

t.test('a device login shows nothing that can control the terminal', async (t) => {
  const { begin } = await deviceLogin(t, {
    user_code: 'WDJB\u001b[2J',
    verification_uri: 'https://x.example/\u001b[2J',
    verification_uri_complete: 'https://x.example/?\u009b2J',
  });
  t.match(await begin(), {
    userCode: 'WDJB [2J',
    verificationURI: 'https://x.example/%1B[2J',
    verificationURIComplete: 'https://x.example/?%C2%9B2J',
  });
});

t.test('addresses of a device login that are not https are refused', async (t) => {
  for (const answer of [
    { verification_uri: 'javascript:alert(1)' },
    { verification_uri_complete: 'http://x.example/WDJB' },
  ]) {
    const { begin } = await deviceLogin(t, answer);
    await t.rejects(begin(), { message: /the address must be https/ });
  }
});

t.test('no timer is left when a device login has failed', async (t) => {
  const { provider, clock, begin } = await deviceLogin(t);
  provider.tokenAnswers = [error('access_denied')];
  await t.rejects((await begin()).wait(), { kind: 'refused', code: 'access_denied' });
  t.equal(clock.pending, 0);
});

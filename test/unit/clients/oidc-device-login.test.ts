import { allowInsecureRequests, discovery } from 'openid-client';
import t, { type Test } from 'tap';
import { beginDeviceLogin } from '../../../src/clients/oidc-device-login.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { type Said, startScriptedProvider } from '../../support/oidc/scripted-provider.ts';

const error = (name: string): Said => ({ status: 400, body: { error: name } });

async function scene(t: Test, metadata: Record<string, unknown> = {}, answer: Record<string, unknown> = {}) {
  const provider = await startScriptedProvider();
  t.teardown(() => provider.close());
  Object.assign(provider.metadata, metadata);
  provider.deviceAnswer = { body: { ...Object(provider.deviceAnswer.body), ...answer } };
  const config = await discovery(new URL(provider.issuer), 'kubernetes', undefined, undefined, {
    execute: [allowInsecureRequests],
  });
  const pauses: number[] = [];
  const clock = createFakeClock();
  const begin = () =>
    beginDeviceLogin({
      config,
      issuer: provider.issuer,
      parameters: { scope: 'openid' },
      clock,
      signal: new AbortController().signal,
      pause: async (milliseconds) => pauses.push(milliseconds),
    });
  const tokens: Said = { body: { access_token: 'a', token_type: 'Bearer', id_token: provider.idToken() } };
  return { provider, pauses, clock, begin, tokens };
}

t.test('asks every five seconds, and slower when it is told to', async (t) => {
  const { provider, pauses, begin, tokens } = await scene(t);
  const pending = error('authorization_pending');
  provider.tokenAnswers = [pending, error('slow_down'), pending, error('slow_down'), tokens];
  const login = await begin();
  t.match(await login.wait(), { idToken: /^ey/ });
  t.same(pauses, [5_000, 5_000, 10_000, 10_000, 15_000]);
});

t.test('asks as often as the provider says', async (t) => {
  const { provider, pauses, begin, tokens } = await scene(t, {}, { interval: 2 });
  provider.tokenAnswers = [tokens];
  await (await begin()).wait();
  t.same(pauses, [2_000]);
});

t.test('shows what the person needs', async (t) => {
  const { provider, begin } = await scene(t, {}, { verification_uri_complete: 'https://x.example/WDJB' });
  t.match(await begin(), {
    userCode: 'WDJB-MJHT',
    verificationURI: `${provider.issuer}/confirm`,
    verificationURIComplete: 'https://x.example/WDJB',
  });
});

t.test('nothing that it shows can act upon a terminal', async (t) => {
  const { begin } = await scene(
    t,
    {},
    {
      user_code: 'WDJB\u001b[2J',
      verification_uri: 'https://x.example/\u001b[2J',
      verification_uri_complete: 'https://x.example/?\u009b2J',
    },
  );
  t.match(await begin(), {
    userCode: 'WDJB [2J',
    verificationURI: 'https://x.example/%1B[2J',
    verificationURIComplete: 'https://x.example/?%C2%9B2J',
  });
});

t.test('refused: pages that are no web pages', async (t) => {
  for (const answer of [
    { verification_uri: 'javascript:alert(1)' },
    { verification_uri_complete: 'http://x.example/WDJB' },
  ]) {
    const { begin } = await scene(t, {}, answer);
    await t.rejects(begin(), { message: /the address must be https/ });
  }
});

t.test('nothing is waited for when it is over', async (t) => {
  const { provider, clock, begin } = await scene(t);
  provider.tokenAnswers = [error('access_denied')];
  await t.rejects((await begin()).wait(), { name: 'ResponseBodyError', error: 'access_denied' });
  t.equal(clock.pending, 0);
});

t.test('the provider says that the code has expired', async (t) => {
  const { provider, begin } = await scene(t);
  provider.tokenAnswers = [error('expired_token')];
  await t.rejects((await begin()).wait(), { name: 'ResponseBodyError', error: 'expired_token' });
});

t.test('a provider without it', async (t) => {
  const { begin } = await scene(t, { device_authorization_endpoint: undefined });
  await t.rejects(begin(), { message: /the provider offers no login by device code$/ });
});

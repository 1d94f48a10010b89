/**
 * The JWT authenticator against a real OpenID provider, over real connections.
 */
import t, { type Test } from 'tap';
import type { JWTConfiguration } from '../../src/config/configuration.ts';
import { runAuthenticators } from '../../src/identity/authenticator.ts';
import { createJWTAuthenticator } from '../../src/identity/jwt/jwt.ts';
import { createIssuerKeys, type DiscoveredIssuerKeys } from '../../src/identity/oidc/oidc-issuer-keys.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import type { Identity } from '../../src/tenancy/identity.ts';
import { eventually } from '../support/eventually.ts';
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts';
import { jwtConfiguration } from '../support/oidc/jwt-configuration.ts';
import { type OidcProvider, requestIdToken, startOidcProvider } from '../support/oidc/provider.ts';

const CONTEXT = { source: '192.0.2.1' };
const MAX_AGE = 600_000;

const users = {
  carol: {
    password: 'carols password',
    claims: { email: 'carol@acme.com', email_verified: true, hd: 'acme.com', groups: ['developers'] },
  },
  mallory: { password: 'm', claims: { email: 'mallory@gmail.com', email_verified: true } },
};

interface Scene {
  readonly provider: OidcProvider;
  readonly keys: DiscoveredIssuerKeys;
  readonly clock: FakeClock;
  login(token: string): Promise<Identity>;
}

function configurationOf(provider: OidcProvider): JWTConfiguration {
  return jwtConfiguration({
    issuer: { url: provider.issuer, audiences: [provider.clientID] },
    claimMappings: {
      username: { claim: 'email', prefix: 'oidc:' },
      groups: { claim: 'groups', prefix: 'oidc:' },
      uid: { claim: 'sub' },
      extra: [],
    },
    tenant: { claim: 'hd', map: { 'acme.com': 'acme' } },
  });
}

async function scene(t: Test): Promise<Scene> {
  const provider = await startOidcProvider({ users });
  const clock = createFakeClock();
  const keys = createIssuerKeys({
    ownKeys: true,
    url: provider.issuer,
    maxAge: MAX_AGE,
    refreshInterval: 10_000,
    timeout: 5_000,
    clock,
    random: systemRandom,
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  t.teardown(async () => {
    await keys.close();
    await provider.close();
  });
  const authenticator = createJWTAuthenticator({
    issuers: [{ configuration: configurationOf(provider), keys }],
    clock,
  });
  return {
    provider,
    keys,
    clock,
    login: async (token) => runAuthenticators([authenticator], { kind: 'bearer', token }, CONTEXT),
  };
}

t.test('an ID token of a real provider is its holder, in their tenant', async (t) => {
  const { provider, login } = await scene(t);
  t.match(await login(await provider.idToken('carol')), {
    subject: { kind: 'claim', name: 'oidc:carol@acme.com' },
    tenantOrigin: { from: 'issuer', tenant: 'acme' },
    groups: ['oidc:developers'],
    uid: 'carol',
  });
});

t.test('a user without an organization has no tenant', async (t) => {
  const { provider, login } = await scene(t);
  await t.rejects(provider.idToken('mallory').then(login), { code: 'TenantUnknown' });
});

t.test('a wrong password is no ID token', async (t) => {
  const { provider } = await scene(t);
  const { issuer, clientID } = provider;
  await t.rejects(requestIdToken({ issuer, clientID, user: 'carol', password: 'wrong' }), /invalid_grant/);
});

t.test('after a rotation the new key is accepted at once and the old one no longer', async (t) => {
  const { provider, login } = await scene(t);
  const before = await provider.idToken('carol');
  t.ok(await login(before));
  await provider.rotateKeys();
  t.ok(await login(await provider.idToken('carol')));
  await t.rejects(login(before), { code: 'CredentialInvalid' });
});

t.test('a withdrawn key is refused once the expired key set was fetched again', async (t) => {
  const { provider, login, keys, clock } = await scene(t);
  const before = await provider.idToken('carol');
  t.ok(await login(before));
  await provider.rotateKeys();
  t.ok(await login(before));
  const set = await keys.keys('provider-1');
  clock.advance(MAX_AGE);
  await eventually(async () => (await keys.keys(undefined)) !== set);
  await t.rejects(login(before), { code: 'CredentialInvalid' });
});

t.test('users are served while the provider is down, including those who have just logged in', async (t) => {
  const { provider, login } = await scene(t);
  const known = await provider.idToken('carol');
  const fresh = await provider.idToken('carol');
  t.ok(await login(known));
  await provider.down();
  t.ok(await login(known));
  t.ok(await login(fresh));
});

t.test('a provider that is down from the start is a 503, until it is up', async (t) => {
  const { provider, login, clock } = await scene(t);
  const token = await provider.idToken('carol');
  await provider.down();
  await t.rejects(login(token), { code: 'IssuerUnavailable' });
  await provider.up();
  clock.advance(10_000);
  t.ok(await login(token));
});

t.test('an ID token is dead at the second it expires', async (t) => {
  const { provider, login, clock } = await scene(t);
  const token = await provider.idToken('carol');
  const { expiresAt } = await login(token);
  clock.advance(expiresAt - clock.now() - 1);
  t.ok(await login(token));
  clock.advance(1);
  await t.rejects(login(token), { code: 'CredentialInvalid' });
});

t.test('a provider that is down does not affect the users of another', async (t) => {
  const down = await scene(t);
  await down.provider.down();
  const up = await scene(t);
  const authenticator = createJWTAuthenticator({
    issuers: [down, up].map(({ provider, keys }) => ({ configuration: configurationOf(provider), keys })),
    clock: up.clock,
  });
  const token = await up.provider.idToken('carol');
  t.ok(await authenticator.authenticate({ kind: 'bearer', token }, CONTEXT));
});

import t, { type Test } from 'tap';
import type { CredentialCache, Validated } from '../../../../src/cache/credential-cache.ts';
import type { AuthenticationContext } from '../../../../src/identity/authenticator.ts';
import {
  createKeystoneAuthenticator,
  tagsOfEvent,
  tagsOfToken,
} from '../../../../src/identity/keystone/keystone-authenticator.ts';
import type { UnknownCredentialGate } from '../../../../src/limits/unknown-credential-gate.ts';
import type { KeystoneToken, RevocationEvent } from '../../../../src/tenancy/keystone-v3.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { keystoneClient } from '../../../support/keystone/client.ts';
import { createKeystoneStandIn } from '../../../support/keystone/standin.ts';

const CONTEXT: AuthenticationContext = { source: '192.0.2.1' };

/** A cache without expiry, in place of those in `src/cache/`. */
function createCache() {
  const entries = new Map<string, Validated<KeystoneToken>>();
  let reason: 'miss' | 'refresh' = 'miss';
  const cache: CredentialCache<KeystoneToken> = {
    async lookup(credential, load) {
      const token = typeof credential === 'string' ? credential : credential.token;
      if (!entries.has(token) || reason === 'refresh') entries.set(token, await load(reason));
      return entries.get(token)?.value;
    },
  };
  return {
    cache,
    entries,
    refreshing() {
      reason = 'refresh';
    },
  };
}

async function createScene(t: Pick<Test, 'teardown'>, tokenProvider: 'fernet' | 'jws' = 'fernet') {
  const clock = createFakeClock(Date.parse('2026-11-21T01:00:00Z'));
  const keystone = await createKeystoneStandIn({ now: clock.now });
  const { directory } = keystone;
  const web = { project: directory.project('acme', 'web') };
  const alice = directory.user('acme', 'alice');
  directory.assign(alice, 'member', web);
  t.teardown(() => keystone.close());
  const client = keystoneClient(t, { url: keystone.url, clock });
  const entered: string[] = [];
  const gate: UnknownCredentialGate = {
    enter(source, work) {
      entered.push(source);
      return work();
    },
  };
  const { cache, entries, refreshing } = createCache();
  const authenticator = createKeystoneAuthenticator({
    client,
    cache,
    gate,
    tokenProvider,
    clock,
    tagsOf: (token) => [`user:${token.user.name}`],
  });
  const bearer = async (token: string) => authenticator.authenticate({ kind: 'bearer', token }, CONTEXT);
  const xAuthToken = async (token: string) =>
    authenticator.authenticate({ kind: 'x-auth-token', token }, CONTEXT);
  const token = keystone.issue(alice, web);
  return { clock, keystone, directory, web, alice, entered, entries, refreshing, bearer, xAuthToken, token };
}

function jwt(header: object, claims: object) {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.${Buffer.alloc(64, 1).toString('base64url')}`;
}

const refused = { code: 'CredentialInvalid', http: 401, message: 'Unauthorized' };
const unavailable = { code: 'KeystoneUnavailable', http: 503 };
const CLAIMS = { sub: 'u1', iat: 1, exp: 2, openstack_methods: ['password'], openstack_audit_ids: ['a1'] };
const ES256 = { alg: 'ES256', typ: 'JWT' };

t.test('C003 a token that Keystone does not vouch for is a 401', async (t) => {
  const { bearer, keystone, token } = await createScene(t);
  keystone.revoke(token);
  await t.rejects(bearer(token), refused);
  await t.rejects(bearer('gAAAAABnobodys'), refused);
});

t.test('a credential of another authenticator is left to it, and no request goes to Keystone', async (t) => {
  const { bearer, keystone } = await createScene(t);
  const foreign = {
    'an ID token': jwt({ alg: 'RS256' }, { iss: 'https://login.example.com', sub: 'carol' }),
    'a Keystone JWS, although this Keystone issues Fernet tokens': jwt(ES256, CLAIMS),
    'an opaque token': 'c2VjcmV0',
    'a bootstrap token': 'abcdef.0123456789abcdef',
  };
  for (const [what, token] of Object.entries(foreign)) t.equal(await bearer(token), undefined, what);
  t.strictSame(keystone.calls, []);
});

t.test('C244 a service account’s JWT never goes to Keystone, whatever is configured', async (t) => {
  const serviceAccount = jwt(
    { alg: 'ES256', kid: 'k1' },
    { ...CLAIMS, iss: 'kubernetes/serviceaccount', sub: 'system:serviceaccount:default:default' },
  );
  for (const provider of ['fernet', 'jws'] as const) {
    const { bearer, xAuthToken, keystone } = await createScene(t, provider);
    t.equal(await bearer(serviceAccount), undefined, `bearer, ${provider}`);
    await t.rejects(xAuthToken(serviceAccount), refused, `X-Auth-Token, ${provider}`);
    t.strictSame(keystone.calls, []);
  }
});

t.test('if Keystone issues JWS tokens, tokens of that form are validated by Keystone', async (t) => {
  const { bearer, keystone } = await createScene(t, 'jws');
  const token = jwt(ES256, CLAIMS);
  await t.rejects(bearer(token), refused, 'this Keystone does not know it');
  t.strictSame(keystone.calls, ['GET /v3/auth/tokens']);
  keystone.calls.length = 0;
  const others = {
    'another algorithm': jwt({ alg: 'RS256' }, CLAIMS),
    'an issuer': jwt(ES256, { ...CLAIMS, iss: '' }),
    'no methods': jwt(ES256, { ...CLAIMS, openstack_methods: undefined }),
    'no audit ids': jwt(ES256, { ...CLAIMS, openstack_audit_ids: undefined }),
    'invalid JSON': `${token.split('.')[0]}.bm9qc29u.c2ln`,
  };
  for (const [what, other] of Object.entries(others)) t.equal(await bearer(other), undefined, what);
  t.strictSame(keystone.calls, []);
});

t.test('a token with invalid characters, or too long, is a 401 without a request to Keystone', async (t) => {
  const { bearer, xAuthToken, token, keystone } = await createScene(t);
  for (const spelling of [`${token}=`, `${token}!!!!`, `${token}+/`, `gAAAAA${'a'.repeat(16_384)}`]) {
    await t.rejects(bearer(spelling), refused);
    await t.rejects(xAuthToken(spelling), refused);
  }
  t.strictSame(keystone.calls, []);
});

t.test(
  'an unknown token counts against the rate of unknown credentials, a cached one does not',
  async (t) => {
    const { bearer, token, entered } = await createScene(t);
    await bearer(token);
    await bearer(token);
    t.strictSame(entered, ['192.0.2.1']);
  },
);

t.test('a refresh in the background does not count against the rate of unknown credentials', async (t) => {
  const { bearer, token, entered, refreshing, keystone } = await createScene(t);
  await bearer(token);
  refreshing();
  await bearer(token);
  t.equal(keystone.calls.length, 2);
  t.equal(entered.length, 1);
});

t.test('C211 a cached token is refused from the millisecond in which it expires', async (t) => {
  const { bearer, keystone, alice, web, clock } = await createScene(t);
  const brief = keystone.issue(alice, web, { life: 30_000 });
  await bearer(brief);
  clock.advance(29_999);
  t.match(await bearer(brief), { subject: { userName: 'alice' } });
  clock.advance(1);
  await t.rejects(bearer(brief), refused);
});

t.test('while Keystone is down, cached users are served and unknown tokens get 503, never 401', async (t) => {
  const { bearer, keystone, token, alice, web } = await createScene(t);
  const another = keystone.issue(alice, web);
  await bearer(token);
  await keystone.down();
  t.match(await bearer(token), { subject: { userName: 'alice' } });
  await t.rejects(bearer(another), unavailable);
  await keystone.listen();
  t.match(await bearer(another), { subject: { userName: 'alice' } }, 'the failure was not cached');
});

const domain = { id: 'd1', name: 'acme' };
const cached: KeystoneToken = {
  user: { id: 'u1', name: 'alice', domain },
  scope: { kind: 'project', project: { id: 'p1', name: 'web', domain } },
  roles: [{ id: 'r1', name: 'member' }],
  federatedGroups: ['g1'],
  methods: ['password'],
  auditIDs: ['a1'],
  issuedAt: 1,
  expiresAt: 2,
};

const NOTHING: RevocationEvent = {
  digest: 'x',
  revokedAt: 0,
  auditID: undefined,
  auditChainID: undefined,
  trustID: undefined,
  userID: undefined,
  projectID: undefined,
  domainID: undefined,
};
const acme = { id: 'acme-id', name: 'acme' };
const globex = { id: 'globex-id', name: 'globex' };
const delegated: KeystoneToken = {
  ...cached,
  user: { id: 'u', name: 'alice', domain: acme },
  scope: { kind: 'project', project: { id: 'p', name: 'web', domain: globex } },
  delegation: { kind: 'trust', id: 't', trusteeUserID: 'trustee', impersonation: true },
  auditIDs: ['own', 'chain'],
};
const hits = (event: Partial<RevocationEvent>, given = delegated) => {
  const tags = new Set(tagsOfToken(given));
  return tagsOfEvent({ ...NOTHING, ...event }).some((tag) => tags.has(tag));
};

t.test(
  'a token is dropped by its own id and by those of its chain, trust, user, trustee, project and domains',
  async (t) => {
    t.ok(hits({ auditID: 'own' }));
    t.ok(hits({ auditChainID: 'chain' }));
    t.ok(hits({ trustID: 't' }));
    t.ok(hits({ userID: 'u' }));
    t.ok(hits({ userID: 'trustee' }));
    t.ok(hits({ projectID: 'p' }));
    t.ok(hits({ domainID: 'acme-id' }));
    t.ok(hits({ domainID: 'globex-id' }));
    t.ok(hits({ domainID: 'acme-id' }, { ...delegated, scope: { kind: 'domain', domain: acme } }));
  },
);

t.test('a token that was not derived from another has its own id as its chain id', async (t) =>
  t.ok(hits({ auditChainID: 'own' }, { ...delegated, auditIDs: ['own'] })),
);

t.test(
  'an event with several ids concerns tokens that have all of them, so the narrowest id suffices',
  async (t) => {
    t.ok(hits({ auditID: 'own', userID: 'u', projectID: 'p' }));
    t.notOk(hits({ auditID: 'another', userID: 'u', projectID: 'p' }));
  },
);

t.test('an event without a known id drops everything', async (t) => t.ok(hits({})));

import t from 'tap';
import type { Identity } from '../../../src/api/identity.ts';
import type { KeystoneSync, ProjectMember } from '../../../src/api/keystone-auth.ts';
import { StatusError, unauthorized } from '../../../src/errors/status-error.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';
import { createTokenReviewer, type TokenReviewerOptions } from '../../../src/webhook/token-review.ts';
import { keystoneIdentity } from '../../support/identities.ts';

const PROJECT = { kind: 'project', id: 'p1', name: 'web', roles: ['member'] } as const;
const ALICE: Identity = { ...keystoneIdentity('alice'), scope: PROJECT };
const RULES: KeystoneSync = {
  projects: false,
  roleAssignments: false,
  namespaceFormat: '%i',
  ignoredProjects: new Set(),
  ignoredProjectNames: new Set(),
  roleMappings: [],
};

function reviewer(identity: Identity | StatusError, changes: Partial<TokenReviewerOptions> = {}) {
  const mode = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
  const requested: ProjectMember[] = [];
  const { review } = createTokenReviewer({
    identities: {
      async authenticate() {
        if (identity instanceof StatusError) throw identity;
        return identity;
      },
      describe(each) {
        const tenant = mode.tenantOf(each);
        return { tenant, user: mode.userOf(each, tenant) };
      },
    },
    legacy: undefined,
    rules: undefined,
    sync: { request: (member) => void requested.push(member) },
    ...changes,
  });
  return { requested, review: () => review('gAAAAA', '192.0.2.1') };
}

t.test('people are called as the API calls them, with their project among the groups', async (t) => {
  t.match(await reviewer(ALICE).review(), {
    authenticated: true,
    user: { username: 'acme:alice', groups: ['stonegate:tenant:acme', 'system:authenticated', 'p1'] },
  });
});

t.test('a bad token is a no without a reason: the API server may keep it', async (t) => {
  t.same(await reviewer(unauthorized('expired')).review(), { authenticated: false });
});

t.test('whom nothing can be made of is a no with the reason', async (t) => {
  const refused = new StatusError('TenantUnknown', 'no tenant');
  t.same(await reviewer(refused).review(), { authenticated: false, error: 'no tenant' });
});

t.test('what is not about the token is no answer', async (t) => {
  for (const code of ['KeystoneUnavailable', 'CredentialRateExceeded'] as const)
    await t.rejects(reviewer(new StatusError(code, 'later')).review(), { code });
});

for (const kind of ['domain', 'system', 'unscoped'] as const) {
  t.test(`a token of the scope ${kind} is nobody’s`, async (t) => {
    const { review } = reviewer({ ...ALICE, scope: { kind, roles: ['admin'] } });
    t.match(await review(), { authenticated: false, error: /not scoped to a project/ });
  });
}

t.test('under legacy names Keystone’s groups count, and must be known', async (t) => {
  const legacy = { of: async () => ['developers'] };
  t.match(await reviewer(ALICE, { legacy }).review(), {
    user: { username: 'alice', groups: ['developers', 'p1'] },
  });
  const down = { of: async () => Promise.reject(new StatusError('KeystoneUnavailable', 'later')) };
  await t.rejects(reviewer(ALICE, { legacy: down }).review(), { code: 'KeystoneUnavailable' });
});

t.test('under legacy names a domain that is no tenant is no hindrance', async (t) => {
  const identity = { ...keystoneIdentity('alice', { home: 'Default' }), scope: PROJECT };
  t.match(await reviewer(identity).review(), { authenticated: false, error: /Default/ });
  t.match(await reviewer(identity, { legacy: { of: async () => [] } }).review(), { authenticated: true });
});

t.test('C240 mappings apply in order, and what is made is made for the name that was answered', async (t) => {
  const roleMappings = [
    { role: 'member', username: 'first', groups: ['a'] },
    { role: 'other', username: 'nobody', groups: ['b'] },
    { role: 'member', username: 'myuser', groups: ['mygroup'] },
    { role: 'member', groups: ['c'] },
  ];
  const { review, requested } = reviewer(ALICE, { rules: { current: { ...RULES, roleMappings } } });
  const { user } = await review();
  t.equal(user?.username, 'myuser');
  t.same(user?.groups.slice(-3), ['a', 'mygroup', 'c']);
  t.match(requested, [{ username: 'myuser', userID: ALICE.uid, project: { id: 'p1', name: 'web' } }]);
});

t.test(
  'a delegated token says nothing of its user’s other roles: nothing is made or taken away',
  async (t) => {
    const delegated = keystoneIdentity('alice', {}, { kind: 'application-credential', id: 'c1' });
    const { review, requested } = reviewer({ ...delegated, scope: PROJECT }, { rules: { current: RULES } });
    t.match(await review(), { authenticated: true });
    t.same(requested, []);
  },
);

t.test('nobody is answered for while the rules by which they are called are unknown', async (t) => {
  const { review } = reviewer(ALICE, { rules: { current: undefined } });
  await t.rejects(review(), { code: 'WebhookRulesUnavailable', http: 503 });
});

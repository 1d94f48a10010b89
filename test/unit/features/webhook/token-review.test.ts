import t from 'tap';
import { parse } from 'yaml';
import { StatusError, unauthorized } from '../../../../src/errors/status-error.ts';
import type { KeystoneSync, ProjectMember } from '../../../../src/features/bindings/keystone-sync.ts';
import {
  createGroupNames,
  createTokenReviewer,
  type TokenReviewerOptions,
} from '../../../../src/features/webhook/token-review.ts';
import type { QualifiedIdentity } from '../../../../src/tenancy/identity.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { keystoneIdentity } from '../../../support/identities.ts';

const PROJECT = { kind: 'project', id: 'p1', name: 'web', roles: ['member'] } as const;
const ALICE: QualifiedIdentity = { ...keystoneIdentity('alice'), scope: PROJECT };
const RULES: KeystoneSync = {
  ...parse("{projects: false, roleAssignments: false, namespaceFormat: '%i', roleMappings: []}"),
  ...{ ignoredProjects: new Set(), ignoredProjectNames: new Set() },
};

function reviewer(identity: QualifiedIdentity | StatusError, changes: Partial<TokenReviewerOptions> = {}) {
  const mode = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
  const requested: ProjectMember[] = [];
  const review = createTokenReviewer({
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
    groupNames: undefined,
    rules: undefined,
    sync: (member) => void requested.push(member),
    ...changes,
  });
  return { requested, review: () => review('gAAAAA', '192.0.2.1') };
}

t.test(
  'an invalid token is not authenticated, without an error, so that the API server may cache the result',
  async (t) => {
    t.same(await reviewer(unauthorized('expired')).review(), { authenticated: false });
  },
);

t.test('an identity without a tenant is not authenticated, with the reason as the error', async (t) => {
  const refused = new StatusError('TenantUnknown', 'no tenant');
  t.same(await reviewer(refused).review(), { authenticated: false, error: 'no tenant' });
});

t.test('a failure that is not about the token is an error, not a review status', async (t) => {
  for (const code of ['KeystoneUnavailable', 'CredentialRateExceeded'] as const)
    await t.rejects(reviewer(new StatusError(code, 'later')).review(), { code });
});

for (const kind of ['domain', 'system', 'unscoped'] as const) {
  t.test(`C217 a token of the scope ${kind} is not authenticated`, async (t) => {
    const { review } = reviewer({ ...ALICE, scope: { kind, roles: ['admin'] } });
    t.match(await review(), { authenticated: false, error: /not scoped to a project/ });
  });
}

t.test('with legacy names the Keystone groups count, and a failure to list them is an error', async (t) => {
  const groupNames = async () => ['developers'];
  t.match(await reviewer(ALICE, { groupNames }).review(), {
    user: { username: 'alice', groups: ['developers', 'p1'] },
  });
  const down = async () => Promise.reject(new StatusError('KeystoneUnavailable', 'later'));
  await t.rejects(reviewer(ALICE, { groupNames: down }).review(), { code: 'KeystoneUnavailable' });
});

t.test('with legacy names the domain need not be a tenant', async (t) => {
  const identity = { ...keystoneIdentity('alice', { home: 'Default' }), scope: PROJECT };
  t.match(await reviewer(identity).review(), { authenticated: false, error: /Default/ });
  t.match(await reviewer(identity, { groupNames: async () => [] }).review(), {
    authenticated: true,
  });
});

t.test(
  'a delegated token shows only a part of the user’s roles, so nothing is created or removed',
  async (t) => {
    const delegated = keystoneIdentity('alice', {}, { kind: 'application-credential', id: 'c1' });
    const { review, requested } = reviewer({ ...delegated, scope: PROJECT }, { rules: { current: RULES } });
    t.match(await review(), { authenticated: true });
    t.same(requested, []);
  },
);

t.test('no token is reviewed before the mapping rules are read', async (t) => {
  const { review } = reviewer(ALICE, { rules: { current: undefined } });
  await t.rejects(review(), { code: 'WebhookRulesUnavailable', http: 503 });
});

t.test('group names are requested once for each validated token', async (t) => {
  const asked: string[] = [];
  const namesOf = createGroupNames(async (userID) => {
    asked.push(userID);
    return ['developers'];
  });
  const alice = keystoneIdentity('alice');
  t.same(await Promise.all([namesOf(alice, 't'), namesOf(alice, 't')]), [['developers'], ['developers']]);
  await namesOf(keystoneIdentity('alice'), 't');
  t.equal(asked.length, 2);
});

t.test('a failed request for group names is not cached', async (t) => {
  let down = true;
  const namesOf = createGroupNames(async () => {
    if (down) throw new Error('down');
    return [];
  });
  const alice = keystoneIdentity('alice');
  await t.rejects(namesOf(alice, 't'));
  down = false;
  t.same(await namesOf(alice, 't'), []);
});

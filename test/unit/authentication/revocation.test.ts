/** Which entries a revocation event drops. */
import t from 'tap';
import type { KeystoneToken, RevocationEvent } from '../../../src/api/keystone-v3.ts';
import { tagsOfEvent, tagsOfToken } from '../../../src/authentication/revocation.ts';

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
const token: KeystoneToken = {
  user: { id: 'u', name: 'alice', domain: acme },
  scope: { kind: 'project', project: { id: 'p', name: 'web', domain: globex } },
  roles: [{ id: 'r', name: 'member' }],
  federatedGroups: [],
  delegation: { kind: 'trust', id: 't', trusteeUserID: 'trustee', impersonation: true },
  methods: ['password'],
  auditIDs: ['own', 'chain'],
  issuedAt: 0,
  expiresAt: 1,
};
const hits = (event: Partial<RevocationEvent>, given = token) => {
  const tags = new Set(tagsOfToken(given));
  return tagsOfEvent({ ...NOTHING, ...event }).some((tag) => tags.has(tag));
};

t.test(
  'a token goes with its own id, its chain, trust, user, trustee, project and either domain',
  async (t) => {
    t.ok(hits({ auditID: 'own' }));
    t.ok(hits({ auditChainID: 'chain' }));
    t.ok(hits({ trustID: 't' }));
    t.ok(hits({ userID: 'u' }));
    t.ok(hits({ userID: 'trustee' }));
    t.ok(hits({ projectID: 'p' }));
    t.ok(hits({ domainID: 'acme-id' }));
    t.ok(hits({ domainID: 'globex-id' }));
    t.ok(hits({ domainID: 'acme-id' }, { ...token, scope: { kind: 'domain', domain: acme } }));
  },
);

t.test('others stay', async (t) => {
  for (const event of [{ auditID: 'chain' }, { auditChainID: 'own' }, { userID: 'p' }, { projectID: 'u' }])
    t.notOk(hits(event), JSON.stringify(event));
});

t.test('a token that was made from no other is its own chain', async (t) => {
  t.ok(hits({ auditChainID: 'own' }, { ...token, auditIDs: ['own'] }));
});

t.test(
  'an event that names several ids is about tokens with all of them: the narrowest is enough',
  async (t) => {
    t.ok(hits({ auditID: 'own', userID: 'u', projectID: 'p' }));
    t.notOk(hits({ auditID: 'another', userID: 'u', projectID: 'p' }));
  },
);

t.test('an event that names nothing known drops everything', async (t) => {
  t.ok(hits({}));
});

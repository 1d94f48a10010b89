import t from 'tap';
import {
  keystoneTokenCodec,
  tagsOfEvent,
  tagsOfToken,
} from '../../../../src/identity/keystone/keystone-cache-authenticator.ts';
import type { KeystoneToken, RevocationEvent } from '../../../../src/tenancy/keystone-v3.ts';

const domain = { id: 'd1', name: 'acme' };
const token: KeystoneToken = {
  user: { id: 'u1', name: 'alice', domain },
  scope: { kind: 'project', project: { id: 'p1', name: 'web', domain } },
  roles: [{ id: 'r1', name: 'member' }],
  federatedGroups: ['g1'],
  methods: ['password'],
  auditIDs: ['a1'],
  issuedAt: 1,
  expiresAt: 2,
};

t.test('an identity of every kind is restored from the cache unchanged', async (t) => {
  const kinds: KeystoneToken[] = [
    token,
    { ...token, scope: { kind: 'domain', domain } },
    { ...token, scope: { kind: 'system' } },
    { ...token, scope: { kind: 'unscoped' }, roles: [] },
    { ...token, delegation: { kind: 'application-credential', id: 'c1' } },
    { ...token, delegation: { kind: 'trust', id: 't1', trusteeUserID: 'u2', impersonation: true } },
  ];
  for (const kind of kinds) t.same(keystoneTokenCodec.decode(keystoneTokenCodec.encode(kind)), kind);
});

t.test('what another version may have sealed counts as not found', async (t) => {
  const shapes: unknown[] = [
    null,
    [],
    {},
    { ...token, user: { id: 'u1', name: 'alice' } },
    { ...token, scope: { kind: 'planet' } },
    { ...token, scope: { kind: 'project', project: { id: 'p1', name: 'web' } } },
    { ...token, scope: undefined },
    { ...token, roles: ['member'] },
    { ...token, federatedGroups: [1] },
    { ...token, delegation: { kind: 'trust', id: 't1' } },
    { ...token, delegation: { kind: 'loan', id: 'x' } },
    { ...token, delegation: 'trust' },
    { ...token, expiresAt: 'tomorrow' },
    { ...token, issuedAt: null },
  ];
  for (const shape of shapes)
    t.equal(keystoneTokenCodec.decode(JSON.stringify(shape)), undefined, JSON.stringify(shape));
});

/*
   Which entries a revocation event drops. 
 */

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
const hits = (event: Partial<RevocationEvent>, given = delegated) => {
  const tags = new Set(tagsOfToken(given));
  return tagsOfEvent({ ...NOTHING, ...event }).some((tag) => tags.has(tag));
};

t.test(
  'a token is dropped by its own id, its chain, trust, user, trustee, project and either domain',
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

t.test('others stay', async (t) => {
  for (const event of [{ auditID: 'chain' }, { auditChainID: 'own' }, { userID: 'p' }, { projectID: 'u' }])
    t.notOk(hits(event), JSON.stringify(event));
});

t.test('a token that was not made from another is its own chain', async (t) => {
  t.ok(hits({ auditChainID: 'own' }, { ...delegated, auditIDs: ['own'] }));
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

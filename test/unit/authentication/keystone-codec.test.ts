import t from 'tap';
import type { KeystoneToken } from '../../../src/api/keystone-v3.ts';
import { keystoneTokenCodec } from '../../../src/authentication/keystone-codec.ts';

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

t.test('a token of every kind comes back as it was', async (t) => {
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

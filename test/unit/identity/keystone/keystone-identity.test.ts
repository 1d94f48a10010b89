import t from 'tap';
import { identityOf } from '../../../../src/identity/keystone/keystone-identity.ts';
import type { KeystoneToken } from '../../../../src/tenancy/keystone-v3.ts';

const ACME = { id: 'f93afa87', name: 'acme' };
const GLOBEX = { id: 'a1b2c3d4', name: 'globex' };
const WEB = { id: 'f5118418', name: 'web', domain: ACME };
const EXTRA = 'alpha.kubernetes.io/identity';

function tokenOf(fields: Partial<KeystoneToken> = {}): KeystoneToken {
  return {
    user: { id: 'caa99f23', name: 'alice', domain: ACME },
    scope: { kind: 'project', project: WEB },
    roles: [
      { id: 'r1', name: 'member' },
      { id: 'r2', name: 'reader' },
    ],
    federatedGroups: [],
    methods: ['password'],
    auditIDs: ['uGPtwyMuSg', 'parent'],
    issuedAt: 1_000,
    expiresAt: 2_000,
    ...fields,
  };
}

const named = (name: string) => tokenOf({ user: { id: 'u1', name, domain: ACME } });
const withRole = (name: string) => tokenOf({ roles: [{ id: 'r1', name }] });

t.test(
  'C216 a project token determines the name, the user id as uid, groups with ids, and the five extra keys',
  async (t) =>
    t.strictSame(identityOf(tokenOf()), {
      authenticator: 'keystone',
      subject: { kind: 'keystone', userName: 'alice', userDomain: ACME, scopeDomain: ACME },
      tenantOrigin: { from: 'domain', domain: ACME },
      uid: 'caa99f23',
      groups: [
        'keystone:project:f5118418',
        'keystone:project:f5118418:role:member',
        'keystone:project:f5118418:role:reader',
      ],
      extra: {
        [`${EXTRA}/roles`]: ['member', 'reader'],
        [`${EXTRA}/project/id`]: ['f5118418'],
        [`${EXTRA}/project/name`]: ['web'],
        [`${EXTRA}/user/domain/id`]: ['f93afa87'],
        [`${EXTRA}/user/domain/name`]: ['acme'],
      },
      scope: { kind: 'project', id: 'f5118418', name: 'web', roles: ['member', 'reader'] },
      signedInAt: 1_000,
      expiresAt: 2_000,
      auditAnnotations: {
        'keystone.stonegate.dev/audit-id': 'uGPtwyMuSg',
        'keystone.stonegate.dev/scope': 'project',
      },
    }),
);

t.test('the tenant comes from the scope, not from the home domain of the user', async (t) => {
  const identity = identityOf(tokenOf({ scope: { kind: 'project', project: { ...WEB, domain: GLOBEX } } }));
  t.match(identity.tenantOrigin, { domain: GLOBEX });
  t.match(identity.subject, { userDomain: ACME, scopeDomain: GLOBEX });
});

t.test('C217 a domain token gives the roles on the domain and no project', async (t) => {
  const identity = identityOf(tokenOf({ scope: { kind: 'domain', domain: GLOBEX } }));
  t.match(identity.tenantOrigin, { domain: GLOBEX });
  t.strictSame(identity.groups, [
    'keystone:domain:a1b2c3d4:role:member',
    'keystone:domain:a1b2c3d4:role:reader',
  ]);
  t.notOk(Object.keys(identity.extra).some((key) => key.includes('project')));
});

t.test(
  'C213 a system token gives the roles on the system, in the home tenant, and nothing else',
  async (t) => {
    const identity = identityOf(tokenOf({ scope: { kind: 'system' }, roles: [{ id: 'r1', name: 'admin' }] }));
    t.match(identity.tenantOrigin, { domain: ACME });
    t.strictSame(identity.groups, ['keystone:system:role:admin']);
  },
);

t.test('C217 an unscoped token gives the home tenant and no roles', async (t) => {
  const identity = identityOf(tokenOf({ scope: { kind: 'unscoped' }, roles: [] }));
  t.match(identity.tenantOrigin, { domain: ACME });
  t.strictSame(identity.groups, []);
  t.strictSame(Object.keys(identity.extra), [`${EXTRA}/user/domain/id`, `${EXTRA}/user/domain/name`]);
});

t.test('an application credential has its own name and none of the user’s groups', async (t) => {
  const delegation = { kind: 'application-credential', id: '75b868e7' } as const;
  const identity = identityOf(tokenOf({ delegation, federatedGroups: ['g1'] }));
  t.match(identity.subject, {
    userName: 'alice',
    delegation: { kind: 'application-credential', id: '75b868e7' },
  });
  t.notOk(identity.groups.includes('keystone:group:g1'));
  t.match(identity.auditAnnotations, { 'keystone.stonegate.dev/application-credential': '75b868e7' });
});

t.test('the audit log of an impersonating trust names the trustee, who sends the request', async (t) => {
  const delegation = {
    kind: 'trust',
    id: 'b9318f93',
    trusteeUserID: '3e0aec2f',
    impersonation: true,
  } as const;
  const identity = identityOf(tokenOf({ delegation }));
  t.strictSame(identity.subject, {
    kind: 'keystone',
    userName: 'alice',
    userDomain: ACME,
    scopeDomain: ACME,
    delegation: { kind: 'trust', id: 'b9318f93' },
  });
  t.match(identity.auditAnnotations, {
    'keystone.stonegate.dev/trust': 'b9318f93',
    'keystone.stonegate.dev/trustee': '3e0aec2f',
    'keystone.stonegate.dev/trust-impersonation': 'true',
  });
});

t.test('a role called system:masters gives no system group, and appears in extra by its name', async (t) => {
  const identity = identityOf(withRole('system:masters'));
  t.strictSame(identity.groups[1], 'keystone:project:f5118418:role:system%3Amasters');
  t.strictSame(identity.extra[`${EXTRA}/roles`], ['system:masters']);
});

t.test('different role names never become the same group', async (t) => {
  const names = ['a b', 'a%20b', 'a:b', 'a%3Ab', 'a%b', 'a%25b', 'ab', 'a\u00a0b', 'A B'];
  const groups = names.map((name) => identityOf(withRole(name)).groups[1]);
  t.equal(new Set(groups).size, names.length);
  for (const group of groups) t.notMatch(group, /\s/);
});

t.test('names that are empty, end in spaces, or have control characters are refused with 403', async (t) => {
  for (const bad of ['', 'alice ', 'al\nice', 'al\ud800ice']) {
    const domain = { id: 'd1', name: bad };
    const tokens = {
      user: named(bad),
      role: withRole(bad),
      project: tokenOf({ scope: { kind: 'project', project: { ...WEB, name: bad } } }),
      'scope domain': tokenOf({ scope: { kind: 'domain', domain } }),
      'user domain': tokenOf({ user: { id: 'u1', name: 'alice', domain } }),
    };
    for (const [what, token] of Object.entries(tokens)) {
      const expected = { code: 'IdentityUnusable', http: 403 };
      t.throws(() => identityOf(token), expected, `${what} ${JSON.stringify(bad)}`);
    }
  }
});

t.test('ids that could read as another group are refused with 403', async (t) => {
  for (const bad of ['', 'p1:role:admin', 'é', 'x'.repeat(256)]) {
    const tokens = {
      project: tokenOf({ scope: { kind: 'project', project: { ...WEB, id: bad } } }),
      domain: tokenOf({ scope: { kind: 'domain', domain: { id: bad, name: 'acme' } } }),
      group: tokenOf({ federatedGroups: [bad] }),
      delegation: tokenOf({ delegation: { kind: 'application-credential', id: bad } }),
    };
    for (const [what, token] of Object.entries(tokens))
      t.throws(() => identityOf(token), { code: 'IdentityUnusable' }, `${what} ${bad}`);
  }
});

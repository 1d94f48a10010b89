import t from 'tap';
import { instantSchema, readToken } from '../../../../src/identity/keystone/keystone-response.ts';

const ACME = { id: 'd1', name: 'acme' };
const BODY = {
  methods: ['password'],
  user: { id: 'u1', name: 'alice', domain: ACME, 'OS-FEDERATION': { groups: [{ id: 'g1' }] } },
  audit_ids: ['own', 'parent'],
  issued_at: '2026-11-21T00:18:04.000000Z',
  expires_at: '2026-11-21T01:18:04.000000Z',
  project: { id: 'p1', name: 'web', domain: ACME },
  is_domain: false,
  roles: [{ id: 'r1', name: 'member' }],
};
const { project: _project, is_domain: _isDomain, roles: _roles, ...UNSCOPED } = BODY;
const TRUST = {
  id: 't1',
  trustor_user: { id: 'u1' },
  trustee_user: { id: 'u2' },
  impersonation: true,
};

const read = (token: unknown) => readToken({ token });

t.test('all fields of a project token are read', async (t) =>
  t.strictSame(read(BODY), {
    token: {
      user: { id: 'u1', name: 'alice', domain: ACME },
      scope: { kind: 'project', project: { id: 'p1', name: 'web', domain: ACME } },
      roles: [{ id: 'r1', name: 'member' }],
      federatedGroups: ['g1'],
      methods: ['password'],
      auditIDs: ['own', 'parent'],
      issuedAt: Date.parse('2026-11-21T00:18:04Z'),
      expiresAt: Date.parse('2026-11-21T01:18:04Z'),
    },
  }),
);

t.test('tokens with restrictions that a proxy cannot check are refused', async (t) => {
  const kinds = {
    'an EC2 signature': { methods: ['ec2credential'] },
    'an EC2 signature in the old form': { methods: [] },
    'OAuth1 as the method': { methods: ['oauth1'] },
    'OAuth1 as a section': { 'OS-OAUTH1': { consumer_id: 'c1' } },
    'a certificate-bound token': { oauth2_credential: { 'x5t#S256': 'digest' } },
    'access rules': { application_credential: { id: 'a1', access_rules: [{ path: '/' }] } },
    'an application credential that is not named': { methods: ['application_credential', 'token'] },
    'a project that acts as a domain': { is_domain: true },
    'a scope without roles': { roles: [] },
    'a scope whose roles are missing': { roles: undefined },
  };
  for (const [kind, fields] of Object.entries(kinds))
    t.match(read({ ...BODY, ...fields }), { refused: String, token: undefined }, kind);
});

t.test('a response that Keystone would not send is refused', async (t) => {
  const garbage: Record<string, unknown> = {
    'no token': undefined,
    'a user without domain': { ...BODY, user: { id: 'u1', name: 'alice' } },
    'two scopes': { ...BODY, domain: ACME },
    'a scope of only a part of the system': { ...UNSCOPED, system: {}, roles: BODY.roles },
    'roles without scope': { ...UNSCOPED, roles: BODY.roles },
    'no audit ids': { ...BODY, audit_ids: [] },
    'no expiry': { ...BODY, expires_at: null },
    'two delegations': { ...BODY, 'OS-TRUST:trust': TRUST, application_credential: { id: 'a1' } },
  };
  for (const [kind, token] of Object.entries(garbage)) t.throws(() => read(token), kind);
});

t.test('instants are read as UTC even without a zone, and cut to milliseconds', async (t) => {
  const expected = Date.parse('2026-11-21T01:18:04.000Z');
  const readInstant = (text: string) => instantSchema.parse(text);
  t.equal(readInstant('2026-11-21T01:18:04'), expected);
  t.equal(readInstant('2026-11-21T02:18:04+01:00'), expected);
  t.equal(readInstant('2026-11-21T01:18:04.123999Z'), expected + 123);
  t.notOk(instantSchema.safeParse('2026-13-21T01:18:04Z').success);
});

/**
 * One AuthenticationConfiguration at a real kube-apiserver and at Stonegate: each token is the same user at
 * both, or is refused by both, except for the list in docs/authentication.md.
 */
import t from 'tap';
import { stringify } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { type KubernetesSite, startKubernetesSite } from '../support/kubernetes/site.ts';
import { startTokenMaker, type TokenMaker } from '../support/oidc/token-maker.ts';
import { createAuthority } from '../support/tls/authority.ts';

const REVIEW = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ASK = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}',
};

/** Mappings and rules by issuer. */
const ISSUERS: Readonly<Record<string, object>> = {
  plain: {
    claimMappings: {
      username: { claim: 'sub', prefix: 'plain:' },
      groups: { claim: 'groups', prefix: 'plain:' },
    },
  },
  mail: {
    claimMappings: { username: { claim: 'email', prefix: 'mail:' }, uid: { claim: 'oid' } },
    claimValidationRules: null,
    userValidationRules: null,
  },
  cel: {
    claimMappings: {
      username: { expression: '"cel:" + string(claims.id)' },
      groups: { expression: 'dyn(claims.?roles.orValue([])).map(r, "cel:" + r)' },
      uid: { expression: 'claims.?oid.orValue("")' },
      extra: [
        { key: 'example.com/dept', valueExpression: 'claims.?dept.orValue("")' },
        {
          key: 'example.com/first',
          valueExpression: 'claims.?roles.optMap(r, dyn(r).map(x, x)).orValue([])',
        },
      ],
    },
    claimValidationRules: [
      { expression: 'claims.?hd.orValue("x") == "x"' },
      { claim: 'tier', requiredValue: 'a' },
    ],
    userValidationRules: [{ expression: 'user.username != "cel:13"' }],
  },
  empty: {
    claimMappings: { username: { claim: 'sub', prefix: 'empty:' } },
    claimValidationRules: [{ claim: 'hd' }],
  },
};

interface Case {
  readonly what: string;
  readonly issuer: string;
  readonly claims?: object;
  /** The payload as text, sent instead of the claims. */
  readonly text?: string;
  readonly header?: object;
  readonly key?: string;
  /** Only Stonegate refuses it, as docs/authentication.md says. */
  readonly stricter?: boolean;
}

const NOW = Math.floor(Date.now() / 1_000);

function cases(origin: string): readonly Case[] {
  const plain = (what: string, claims: object, more: Partial<Case> = {}): Case => ({
    what,
    issuer: 'plain',
    claims: { sub: 'carol', ...claims },
    ...more,
  });
  const whole = (members: string) =>
    `{"iss":"${origin}/plain","aud":"k","exp":${NOW + 600},"sub":"carol"${members}}`;
  const isEmpty = (value: unknown) => value === '' || value === null;
  const values = [
    'carol',
    '',
    null,
    7,
    true,
    ['a'],
    { a: 'b' },
    'ä😀',
    'a b',
    'x:y',
    '%41',
    'a"b',
    'A'.repeat(300),
  ];
  const strange = [' carol', 'carol ', 'a\nb', 'a\u0085', '\u00a0x'];
  const cel = (what: string, claims: object, more: Partial<Case> = {}): Case => ({
    what,
    issuer: 'cel',
    claims: { id: 5, tier: 'a', ...claims },
    ...more,
  });
  const mail = (what: string, claims: object): Case => ({
    what,
    issuer: 'mail',
    claims: { email: 'carol@acme.example', oid: 'o-1', ...claims },
  });
  return [
    ...values.map((sub) =>
      plain(`sub ${JSON.stringify(sub)}`.slice(0, 60), { sub }, { stricter: isEmpty(sub) }),
    ),
    plain('no sub', { sub: undefined }),
    ...strange.map((sub) => plain(`sub ${JSON.stringify(sub)}`, { sub }, { stricter: true })),
    ...values.map((groups) =>
      plain(`groups ${JSON.stringify(groups)}`.slice(0, 60), { groups }, { stricter: groups === '' }),
    ),
    plain('several groups, one twice', { groups: ['dev', 'ops', 'dev'] }),
    plain('a group that is null', { groups: ['dev', null] }, { stricter: true }),
    plain('a group that is a number', { groups: ['dev', 7] }),
    ...strange.map((group) =>
      plain(`group ${JSON.stringify(group)}`, { groups: [group] }, { stricter: true }),
    ),
    plain('two audiences, another party', { aud: ['k', 'other'], azp: 'other' }),
    plain('another audience', { aud: 'other' }),
    plain('no audience', { aud: undefined }),
    plain('an audience that is null', { aud: null }),
    plain('an audience that is a number', { aud: 7 }),
    plain('the second audience of the file', { aud: 'k2' }),
    plain('nbf in 50 s', { nbf: NOW + 50 }),
    plain('nbf in 200 s', { nbf: NOW + 200 }),
    plain('nbf in 500 s', { nbf: NOW + 500 }),
    plain('nbf null', { nbf: null }, { stricter: true }),
    plain('nbf a string', { nbf: String(NOW - 5) }, { stricter: true }),
    plain('nbf no number', { nbf: 'soon' }),
    plain('exp a string', { exp: String(NOW + 600) }, { stricter: true }),
    plain('exp with a fraction', { exp: NOW + 600.5 }),
    plain('exp no number', { exp: 'x' }),
    plain('exp null', { exp: null }),
    plain('no exp', { exp: undefined }),
    plain('exp past', { exp: NOW - 5 }),
    plain('exp true', { exp: true }),
    plain('exp very large', { exp: 1e15 }),
    plain('iat null', { iat: null }),
    plain('iat ahead', { iat: NOW + 500 }),
    plain('an event', { events: { x: {} } }),
    plain('jti', { jti: 'token-1' }),
    plain('jti a number', { jti: 7 }),
    ...['JOSE', 'ID', 'jwt', 'at+jwt', 'logout+jwt', '', undefined, 7].map((typ) =>
      plain(`typ ${JSON.stringify(typ)}`, {}, { header: { typ } }),
    ),
    ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((alg) =>
      plain(alg, {}, { header: { alg } }),
    ),
    plain('ES256', {}, { header: { alg: 'ES256' }, key: 'ec' }),
    plain('ES384 with P-384', {}, { header: { alg: 'ES384' }, key: 'ec384' }),
    plain('ES384 with P-256', {}, { header: { alg: 'ES384' }, key: 'ec', stricter: true }),
    plain('ES256 with P-384', {}, { header: { alg: 'ES256' }, key: 'ec384' }),
    ...['HS256', 'none', 'EdDSA', 'XX', 7].map((alg) => plain(`alg ${alg}`, {}, { header: { alg } })),
    plain('no kid', {}, { header: { kid: undefined } }),
    plain('an empty kid', {}, { header: { kid: '' } }),
    plain('kid null', {}, { header: { kid: null } }),
    plain('no kid, another key', {}, { header: { kid: undefined, alg: 'ES256' }, key: 'ec' }),
    plain('the kid of another key', {}, { header: { kid: 'ec' } }),
    plain('an unknown kid', {}, { header: { kid: 'zz' } }),
    plain('a key that is not published', {}, { header: { kid: 'rsa' }, key: 'rsa2' }),
    plain('crit', {}, { header: { crit: ['x'], x: 1 } }),
    plain('crit b64', {}, { header: { crit: ['b64'], b64: true } }),
    plain('crit empty', {}, { header: { crit: [] }, stricter: true }),
    plain('crit a string', {}, { header: { crit: 'x' } }),
    { what: 'a member twice', issuer: 'plain', text: whole(',"sub":"dave"'), stricter: true },
    {
      what: 'a group claim twice',
      issuer: 'plain',
      text: whole(',"groups":["a"],"groups":["b"]'),
      stricter: true,
    },
    { what: 'SUB in capitals', issuer: 'plain', text: whole(',"SUB":"dave"') },
    { what: 'half a character', issuer: 'plain', text: whole(',"sub":"a\\ud800"'), stricter: true },
    { what: 'an escaped name', issuer: 'plain', text: whole(',"\\u0073ub":"dave"'), stricter: true },
    {
      what: 'as deep as Go reads',
      issuer: 'plain',
      text: whole(`,"x":${'['.repeat(9_999)}${']'.repeat(9_999)}`),
    },
    {
      what: 'deeper than Go reads',
      issuer: 'plain',
      text: whole(`,"x":${'['.repeat(10_000)}${']'.repeat(10_000)}`),
    },
    plain('a group of two lines', { groups: ['a\u2028b'] }, { stricter: true }),
    { what: 'not JSON', issuer: 'plain', text: '{"iss":' },
    { what: 'a list', issuer: 'plain', text: '[]' },
    plain('claim names without sources', { _claim_names: { groups: 'src' } }),
    plain('claim names of other claims', { _claim_names: { x: 'src' }, _claim_sources: { src: {} } }),
    plain('claim names, with groups', {
      groups: ['a'],
      _claim_names: { groups: 's' },
      _claim_sources: { s: { endpoint: 'https://127.0.0.1:1' } },
    }),
    plain(
      'claim names without an address',
      {
        _claim_names: { groups: 's' },
        _claim_sources: { s: { JWT: 'x' } },
      },
      { stricter: true },
    ),
    plain('hasgroups', { hasgroups: true }),
    mail('verified', { email_verified: true }),
    mail('not verified', { email_verified: false }),
    mail('verified as a string', { email_verified: 'true' }),
    mail('verified null', { email_verified: null }),
    mail('not stated', {}),
    mail('two @ signs', { email: 'a@b@c' }),
    mail('no address', { email: 'carol' }),
    mail('no uid', { oid: undefined }),
    mail('uid null', { oid: null }),
    mail('uid empty', { oid: '' }),
    mail('uid a number', { oid: 7 }),
    mail('no email', { email: undefined }),
    cel('a number', {}),
    cel('a large number', { id: 12_345_678 }),
    cel('a huge number', { id: 1e21 }, { stricter: true }),
    cel('a number beyond exactness', { id: 2 ** 53 }, { stricter: true }),
    cel('a fraction', { id: 0.1 }),
    cel('a negative one', { id: -5 }),
    cel('a string', { id: 'x' }),
    cel('null', { id: null }),
    cel('a list', { id: [] }),
    cel('missing', { id: undefined }),
    cel('roles', { roles: ['dev', 'ops'], dept: ['r', '', 'd'] }),
    cel('a role that is empty', { roles: ['dev', ''] }, { stricter: true }),
    cel('roles that are a string', { roles: 'dev' }),
    cel('roles with a number', { roles: ['dev', 7] }),
    cel('dept a number', { dept: 7 }),
    cel('dept null', { dept: null }),
    cel('uid', { oid: 'o-1' }),
    cel('uid a number', { oid: 7 }),
    cel('hd wrong', { hd: 'y' }),
    cel('hd a number', { hd: 7 }),
    cel('tier missing', { tier: undefined }),
    cel('tier a list', { tier: ['a'] }),
    cel('refused by the user rule', { id: 13 }),
    { what: 'required claim missing', issuer: 'empty', claims: { sub: 'a' } },
    { what: 'required claim empty', issuer: 'empty', claims: { sub: 'a', hd: '' } },
    { what: 'required claim null', issuer: 'empty', claims: { sub: 'a', hd: null } },
    { what: 'required claim given', issuer: 'empty', claims: { sub: 'a', hd: 'x' } },
    { what: 'an unknown issuer', issuer: 'nowhere', claims: { sub: 'a' } },
  ];
}

function tokenOf(maker: TokenMaker, { issuer, claims, text, header, key }: Case) {
  const payload = { iss: `${maker.origin}/${issuer}`, aud: 'k', exp: NOW + 600, ...claims };
  return maker.token(text ?? payload, header, key);
}

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The user without what Stonegate is documented to add, and without the credential's id. */
function known(body: string): object {
  const { username = '', uid = '', groups = [], extra = {} }: User = JSON.parse(body).status.userInfo;
  const ours = /^(?:stonegate\.dev\/|authentication\.kubernetes\.io\/credential-id$)/;
  return {
    username,
    uid,
    groups: [...new Set(groups)].filter((group) => !group.startsWith('stonegate:')).sort(),
    extra: Object.fromEntries(Object.entries(extra).filter(([key]) => !ours.test(key))),
  };
}

async function outcomes(site: KubernetesSite, token: string) {
  const direct = await site.kubernetes.ask({ token }, REVIEW, ASK);
  const through = await site.stonegate.ask(token, REVIEW, ASK);
  const outcome = (status: number, body: string): object =>
    status === 201 ? known(body) : { refused: status === 401 || status === 403 };
  return {
    direct: outcome(direct.status, direct.body),
    through: outcome(through.status, through.body),
    statuses: [direct.status, through.status],
  };
}

t.test('one AuthenticationConfiguration in both servers', { skip: missingKubernetes() }, async (t) => {
  const authority = await createAuthority('Issuer test CA');
  const maker = await startTokenMaker(await authority.server('issuer'));
  t.teardown(() => maker.stop());
  const url = (name: string) => `${maker.origin}/${name}`;
  const file = stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: Object.entries(ISSUERS).map(([name, more]) => ({
      issuer: {
        url: url(name),
        audiences: ['k', 'k2'],
        audienceMatchPolicy: 'MatchAny',
        certificateAuthority: authority.cert,
      },
      ...more,
    })),
  });
  const tenants = Object.fromEntries(
    Object.keys(ISSUERS).map((name) => [
      url(name),
      { value: 'acme', ...(name === 'cel' ? { usernamePrefix: 'cel:', groupsPrefix: 'cel:' } : {}) },
    ]),
  );
  const site = await startKubernetesSite(t, {
    files: { 'authentication.yaml': file },
    flags: (path) => [`--authentication-config=${path('authentication.yaml')}`],
    stonegateFiles: { 'authentication.yaml': file },
    configuration: { authentication: { jwt: [], configurationFile: 'authentication.yaml', tenants } },
  });
  const table = cases(maker.origin);
  for (const issuer of Object.keys(ISSUERS)) {
    const hd = issuer === 'empty' ? '' : 'x';
    const claims = { sub: 'a', hd, email: 'a@b', oid: 'o', id: 1, tier: 'a' };
    const token = tokenOf(maker, { what: '', issuer, claims });
    await eventually(async () => (await site.kubernetes.ask({ token }, REVIEW, ASK)).status === 201);
  }
  for (const each of table) {
    const { direct, through, statuses } = await outcomes(site, tokenOf(maker, each));
    if (each.stricter === true) {
      const refused = statuses[1] === 401 || statuses[1] === 403;
      t.ok(statuses[0] === 201 && refused, `${each.issuer}: ${each.what} (${statuses.join(', ')})`);
    } else {
      t.same(through, direct, `${each.issuer}: ${each.what} (${statuses.join(', ')})`);
    }
  }
});

/**
 * One AuthenticationConfiguration at a real kube-apiserver and at Stonegate: each token is the same user at
 * both, or is refused by both, except for the list in docs/authentication.md.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { type KubernetesSite, startKubernetesSite, WHOAMI, WHOAMI_PATH } from '../support/kubernetes/site.ts';
import { startTokenMaker, type TokenMaker } from '../support/oidc/token-maker.ts';
import { createAuthority } from '../support/tls/authority.ts';

const ISSUERS = ['plain', 'mail', 'cel', 'empty'];

/** The file for both servers, with mappings and rules for each issuer. */
function fileOf(origin: string, authority: string) {
  const issuer = (name: string) =>
    `{ url: ${origin}/${name}, audiences: [k, k2], audienceMatchPolicy: MatchAny, certificateAuthority: ${JSON.stringify(authority)} }`;
  return `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: ${issuer('plain')}
  claimMappings:
    username: { claim: sub, prefix: "plain:" }
    groups: { claim: groups, prefix: "plain:" }
- issuer: ${issuer('mail')}
  claimMappings:
    username: { claim: email, prefix: "mail:" }
    uid: { claim: oid }
  claimValidationRules: null
  userValidationRules: null
- issuer: ${issuer('cel')}
  claimMappings:
    username: { expression: '"cel:" + string(claims.id)' }
    groups: { expression: 'dyn(claims.?roles.orValue([])).map(r, "cel:" + r)' }
    uid: { expression: 'claims.?oid.orValue("")' }
    extra:
    - { key: example.com/dept, valueExpression: 'claims.?dept.orValue("")' }
    - { key: example.com/first, valueExpression: 'claims.?roles.optMap(r, dyn(r).map(x, x)).orValue([])' }
  claimValidationRules:
  - { expression: 'claims.?hd.orValue("x") == "x"' }
  - { claim: tier, requiredValue: a }
  userValidationRules: [{ expression: 'user.username != "cel:13"' }]
- issuer: ${issuer('empty')}
  claimMappings: { username: { claim: sub, prefix: "empty:" } }
  claimValidationRules: [{ claim: hd }]
`;
}

interface Case {
  readonly what: string;
  /**
   * The claims, or the payload as text. `@+600` is 600 seconds from now, with single quotes a string, and
   * `@ORIGIN` the address of the issuers.
   */
  readonly payload: object | string;
  /** Added to the usual header; `@absent` removes a member. */
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: string;
  /** Only Stonegate refuses it, as docs/authentication.md says. */
  readonly stricter?: boolean;
}

const NESTED = '{"iss":"@ORIGIN/plain","aud":"k","exp":"@+600","sub":"carol","x":';
const CASES: readonly Case[] = [
  ...readFileSync('test/support/kubernetes/token-cases.jsonl', 'utf8')
    .trim()
    .split('\n')
    .map((line): Case => JSON.parse(line)),
  { what: 'as deep as Go reads', payload: `${NESTED}${'['.repeat(9_999)}${']'.repeat(9_999)}}` },
  { what: 'deeper than Go reads', payload: `${NESTED}${'['.repeat(10_000)}${']'.repeat(10_000)}}` },
];

const NOW = Math.floor(Date.now() / 1_000);

function tokenOf(maker: TokenMaker, { payload, header = {}, key }: Pick<Case, 'payload' | 'header' | 'key'>) {
  const text = (typeof payload === 'string' ? payload : JSON.stringify(payload))
    .replaceAll('@ORIGIN', maker.origin)
    .replace(/"'@([+-]\d+)'"/g, (_, seconds) => `"${NOW + Number(seconds)}"`)
    .replace(/"@([+-][\d.]+)"/g, (_, seconds) => String(NOW + Number(seconds)));
  const members = Object.entries(header).map(([name, value]) => [
    name,
    value === '@absent' ? undefined : value,
  ]);
  return maker.token(text, Object.fromEntries(members), key);
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
  const direct = await site.kubernetes.ask({ token }, WHOAMI_PATH, WHOAMI);
  const through = await site.stonegate.ask(token, WHOAMI_PATH, WHOAMI);
  const outcome = (status: number, body: string) =>
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
  const file = fileOf(maker.origin, authority.cert);
  const tenants = Object.fromEntries(
    ISSUERS.map((name) => [
      `${maker.origin}/${name}`,
      { value: 'acme', ...(name === 'cel' ? { usernamePrefix: 'cel:', groupsPrefix: 'cel:' } : {}) },
    ]),
  );
  const site = await startKubernetesSite(t, {
    files: { 'authentication.yaml': file },
    flags: (path) => [`--authentication-config=${path('authentication.yaml')}`],
    stonegateFiles: { 'authentication.yaml': file },
    configuration: { authentication: { jwt: [], configurationFile: 'authentication.yaml', tenants } },
  });
  for (const issuer of ISSUERS) {
    const hd = issuer === 'empty' ? '' : 'x';
    const claims = { iss: `@ORIGIN/${issuer}`, aud: 'k', exp: '@+600', sub: 'a' };
    const token = tokenOf(maker, { payload: { ...claims, hd, email: 'a@b', oid: 'o', id: 1, tier: 'a' } });
    await eventually(async () => (await site.kubernetes.ask({ token }, WHOAMI_PATH, WHOAMI)).status === 201);
  }
  for (const each of CASES) {
    const { direct, through, statuses } = await outcomes(site, tokenOf(maker, each));
    if (each.stricter === true) {
      const refused = statuses[1] === 401 || statuses[1] === 403;
      t.ok(statuses[0] === 201 && refused, `${each.what} (${statuses.join(', ')})`);
    } else {
      t.same(through, direct, `${each.what} (${statuses.join(', ')})`);
    }
  }
});

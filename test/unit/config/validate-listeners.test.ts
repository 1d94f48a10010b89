import t from 'tap';
import { parse as yaml } from 'yaml';
import { problemsOfSections } from '../../support/configuration-problems.ts';

const ISSUER = 'https://login.acme.example';
const OIDC = { name: 'acme', clientID: 'portal' };
const LOGIN = { name: 'acme', displayName: 'Acme', clientID: 'kubectl' };

/** An issuer with this login. */
const issuerOf = (login: object, url = ISSUER, prefix = 'oidc:') => ({
  ...yaml(`{claimMappings: {username: {claim: sub, prefix: '${prefix}'}}, tenant: {value: acme}}`),
  ...{ issuer: { url, audiences: ['portal', 'kubectl'] }, login },
});

function problemsOf(portal: object, changes: Readonly<Record<string, string>> = {}, login: object = LOGIN) {
  const usual = yaml(`
    publicURL: https://login.example.com
    tls: {certFile: portal.crt, keyFile: portal.key}
    kubernetes: {server: 'https://k8s.example.com:8443'}`);
  const keystone = { url: 'https://keystone:5000/v3' };
  return problemsOfSections({
    authentication: JSON.stringify({ keystone, jwt: [issuerOf(login)] }),
    portal: JSON.stringify({ ...usual, ...portal }),
    ...changes,
  }).map((problem) => problem.replace(/ \(line \d+\)/, ''));
}

t.test(
  'a host name shared with the API is refused, whatever the port, since cookies ignore ports',
  async (t) =>
    t.match(problemsOf({ publicURL: 'https://k8s.example.com:8444' }), [/portal\.publicURL.*cookies/]),
);

t.test('an address that is not an https origin is refused', async (t) => {
  for (const publicURL of [
    'http://login.example.com',
    'http://localhost',
    'https://login.example.com/portal',
  ])
    t.match(problemsOf({ publicURL }), [/portal\.publicURL.*an https address without a path/], publicURL);
});

t.test('an address that another listener has is refused', async (t) => {
  t.match(problemsOf({ bind: '0.0.0.0:8443' }), [/portal\.bind.*server\.bind/]);
  t.match(problemsOf({ bind: '127.0.0.1:9090' }), [/portal\.bind.*admin\.bind/]);
});

t.test('an issuer whose login the API does not know, or that is listed twice, is refused', async (t) => {
  t.same(problemsOf({ oidc: [{ ...OIDC, name: 'globex' }] }), [
    'portal.oidc[0].name: expected the name of a login in authentication.jwt[].login; there is acme',
  ]);
  t.match(problemsOf({ oidc: [OIDC, OIDC] }), [/portal\.oidc\[1\]\.name.*each name once, found acme again/]);
});

t.test(
  'what was a part of portal.oidc until now is refused, and says where to write it instead',
  async (t) => {
    const former = { issuer: ISSUER, displayName: 'Acme', scopes: ['openid'], kubectlClientID: 'kubectl' };
    const problems = problemsOf({ oidc: [{ ...OIDC, ...former }] });
    t.equal(problems.length, 4);
    t.equal(
      problems[0],
      'portal.oidc[0].issuer: is now a part of the issuer: authentication.jwt[].login has name, displayName, clientID, scopes and redirectURI, and portal.oidc[].name refers to it',
    );
  },
);

t.test('two logins of the same name are refused', async (t) => {
  const other = 'https://login.globex.example';
  const problems = (name: string) => {
    const jwt = [issuerOf(LOGIN, ISSUER, 'a:'), issuerOf({ ...LOGIN, name }, other, 'b:')];
    return problemsOf({ oidc: [OIDC] }, { authentication: JSON.stringify({ jwt }) });
  };
  t.same(problems('acme'), [
    `authentication.jwt[1].login.name: expected another name than the login of ${ISSUER}`,
  ]);
  t.same(problems('globex'), []);
});

t.test('an issuer without a name, or with a name that a URL would have to escape, is refused', async (t) => {
  const { name: _name, ...nameless } = OIDC;
  t.match(problemsOf({ oidc: [nameless] }), [
    /portal\.oidc\[0\]\.name.*is required: expected the name of a login of an issuer/,
  ]);
  for (const name of ['', 'Acme', 'a/b', '..', 'a.b', 'ä', 'a b', 'a%2fb', '-a', 'a?', 'a'.repeat(64)])
    t.match(problemsOf({ oidc: [{ ...OIDC, name }] }), [/portal\.oidc\[0\]\.name.*DNS-1123 label/], name);
  t.match(problemsOf({ oidc: [{ ...OIDC, name: 'a-' }] }), [/"-", which is neither first nor last.* "a-"$/]);
  t.match(problemsOf({ oidc: [{ ...OIDC, name: 'a'.repeat(64) }] }), [/at most 63.*found 64 characters$/]);
  t.match(problemsOf({ oidc: [{ ...OIDC, name: 'A'.repeat(64) }] }), [/found a string that does not fit$/]);
});

t.test('a client whose tokens the API would not accept is refused', async (t) => {
  t.match(problemsOf({ oidc: [{ ...OIDC, clientID: 'x' }] }), [/portal\.oidc\[0\]\.clientID.*audiences/]);
  const ofLogin = (clientID: string) => problemsOf({}, {}, { ...LOGIN, clientID });
  t.match(ofLogin('x'), [/authentication\.jwt\[0\]\.login\.clientID.*audiences/]);
  t.same(ofLogin('portal'), []);
});

t.test('the redirect address of the login plugin must be on loopback, without a port', async (t) => {
  const problemsWith = (redirectURI: string) => problemsOf({}, {}, { ...LOGIN, redirectURI });
  for (const good of ['http://localhost/', 'http://127.0.0.1/acme', 'http://[::1]/a/b'])
    t.same(problemsWith(good), [], good);
  for (const bad of [
    'https://localhost/',
    'http://127.0.0.1',
    'http://127.0.0.1:80/',
    'http://login.example.com/',
    'http://localhost/?a',
    'http://localhost/#a',
    'http://a@localhost/',
    'http://localhost/a b',
    '',
  ])
    t.match(problemsWith(bad), [/authentication\.jwt\[0\]\.login\.redirectURI.*loopback/], bad);
});

t.test('a portal without a sign-in method is refused', async (t) => {
  t.match(problemsOf({ keystone: { enabled: false } }), [/portal\.oidc.*no way to sign in/]);
  t.same(problemsOf({ keystone: { enabled: false }, oidc: [OIDC] }), []);
});

t.test('several workers need Redis to share sessions', async (t) => {
  const server = '{ tls: { certFile: tls.crt, keyFile: tls.key }, workers: 2 }';
  t.match(problemsOf({}, { server }), [/cache\.redis.*is required with portal/]);
  const cache = '{ redis: { url: { fromEnv: REDIS_URL } }, sealingKeys: [{ fromFile: key }] }';
  t.same(problemsOf({}, { server, cache }), []);
});

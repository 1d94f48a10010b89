import t from 'tap';
import { stringify } from 'yaml';
import { configurationWarnings, parseStonegate } from '../../../src/app/configuration.ts';
import { readConfiguration } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/problem.ts';
import { configurationText, problemsOfSections } from '../../support/configuration-problems.ts';

const A = 'https://a.example';
const B = 'https://b.example';

interface Files {
  /** Fields of `authentication` in Stonegate's own configuration file. */
  readonly own?: object;
  readonly mode?: string;
  /** The AuthenticationConfiguration. */
  readonly text: string;
}

function read({ own = {}, mode = 'arktos', text }: Files) {
  const authentication = JSON.stringify({ configurationFile: 'auth.yaml', ...own });
  const configuration = configurationText({ tenancy: `{ mode: ${mode} }`, authentication });
  return parseStonegate(configuration, '/etc/stonegate', (name) => {
    t.equal(name, '/etc/stonegate/auth.yaml');
    return Buffer.from(text);
  });
}

function problemsOf(files: Files) {
  return read(files).problems.map(formatProblem);
}

function file(jwt: readonly object[], more: object = {}) {
  return stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt,
    ...more,
  });
}

function issuer(url: string, changes: object = {}) {
  return {
    issuer: { url, audiences: ['kubernetes'] },
    claimMappings: { username: { claim: 'sub', prefix: `${new URL(url).hostname[0]}:` } },
    ...changes,
  };
}

const ofIssuers = (...urls: string[]) => ({
  tenants: Object.fromEntries(urls.map((url) => [url, { value: 'acme' }])),
});
const ofA = { tenants: { [A]: { value: 'acme' } } };

const HEAD = 'apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\njwt:\n';
const issuerText = (url: string, mappings: string) =>
  `- issuer: { url: ${url}, audiences: [k] }\n  claimMappings: ${mappings}\n`;
const name = (prefix: string) => `username: { claim: sub, prefix: '${prefix}' }`;

t.test('documents behind the first are ignored, as by kube-apiserver', async (t) => {
  const first = HEAD + issuerText(A, `{ ${name('a:')} }`);
  for (const second of ['apiVersion: v1\nkind: ConfigMap\n', HEAD + issuerText(B, '{}'), 'broken: [\n'])
    t.same(problemsOf({ own: ofA, text: `${first}---\n${second}` }), [], second);
});

t.test('a key beside << that it merges too is refused, as by kube-apiserver', async (t) => {
  const merged = (mappings: string) =>
    HEAD + issuerText(A, `&a\n    ${name('a:')}`) + issuerText(B, mappings);
  const own = ofIssuers(A, B);
  const unlike = problemsOf({ own, text: merged('{ <<: *a }') });
  t.notMatch(unlike.join(), /YAML/, 'without such a key it is read');
  for (const mappings of [
    `{ <<: *a, ${name('b:')} }`,
    `{ ${name('b:')}, <<: *a }`,
    '{ <<: [*a, *a] }',
    `{ <<: [*a, { ${name('b:')} }] }`,
  ])
    t.match(
      problemsOf({ own, text: merged(mappings) }),
      [/^auth\.yaml: the file \(line 8, column 18\): is no valid YAML: map keys must be unique$/],
      mappings,
    );
});

t.test('a file that does not parse is named with line and column', async (t) =>
  t.match(problemsOf({ own: ofA, text: `${HEAD}- issuer: [\n` }), [
    /^auth\.yaml: the file \(line \d, column \d+\): is no valid YAML/,
  ]),
);

t.test('an expression that lets no user in is a warning', async (t) => {
  const warningsOf = (changes: object) => {
    const { configuration } = read({ own: ofA, text: file([issuer(A, changes)]) });
    return configuration && configurationWarnings(configuration).map(formatProblem);
  };
  const username = { claim: 'sub', prefix: 'a:' };
  const mapped = (mappings: object) => warningsOf({ claimMappings: { username, ...mappings } });
  const groups = (expression: string) => mapped({ groups: { expression } });
  for (const fine of ['claims.roles', 'claims.roles.split(",").map(role, role)', '["a"]', '"a"'])
    t.same(groups(fine), [], fine);
  for (const split of ['claims.roles.split(",")', 'has(claims.roles) ? claims.roles.split(",") : []'])
    t.same(groups(split), [
      `authentication.configurationFile: claimMappings.groups.expression of ${A} lets no user in: it returns what split or findAll returns, which is not accepted as a list: write .map(each, each) behind it`,
    ]);
  t.match(groups('claims.roles == "a"'), [
    /groups\.expression of .* it returns bool, and not a string or a list/,
  ]);
  t.match(mapped({ uid: { expression: '7' } }), [/uid\.expression .* it returns int, and not a string/]);
  const extra = [{ key: 'example.com/a', valueExpression: '{"a": "b"}' }];
  t.match(mapped({ extra }), [/claimMappings\.extra\[0\]\.valueExpression of .* it returns map/]);
});

t.test('a required value of a claim that is no string is a warning', async (t) => {
  const rules = { claimValidationRules: [{ claim: 'email_verified', requiredValue: 'true' }] };
  const { configuration } = read({ own: ofA, text: file([issuer(A, rules)]) });
  t.match(configuration && configurationWarnings(configuration), [
    {
      path: 'authentication.configurationFile',
      message: /claimValidationRules\[0\]\.requiredValue .* lets no user in: email_verified is no string/,
    },
  ]);
});

t.test('C063 a complete file of kube-apiserver is read unchanged', async (t) => {
  const text = `
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: https://a.example
    discoveryURL: https://discovery.a.example/.well-known/openid-configuration
    audiences:
    - my-app
    - my-other-app
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - claim: hd
    requiredValue: example.com
  - expression: 'claims.hd == "example.com"'
    message: the hd claim must be set to example.com
  - expression: 'claims.exp - claims.nbf <= 86400'
    message: total token lifetime must not exceed 24 hours
  claimMappings:
    username:
      expression: 'claims.username + ":external-user"'
    groups:
      expression: 'claims.roles.split(",")'
    uid:
      expression: 'claims.sub'
    extra:
    - key: 'example.com/tenant'
      valueExpression: 'claims.tenant'
  userValidationRules:
  - expression: "!user.username.startsWith('system:')"
    message: 'username cannot used reserved system: prefix'
  - expression: "user.groups.all(group, !group.startsWith('system:'))"
    message: 'groups cannot used reserved system: prefix'
- issuer:
    url: https://b.example
    audiences: [single]
  claimMappings:
    username:
      claim: sub
      prefix: "b:"
    groups:
      claim: groups
      prefix: "bg:"
`;
  const own = {
    tenants: {
      [A]: { claim: 'hd', map: { 'example.com': 'acme' }, usernamePrefix: 'a:', groupsPrefix: 'ag:' },
      [B]: { value: 'globex' },
    },
  };
  const { configuration, problems } = read({ own, text });
  t.same(problems, []);
  const [first, second] = configuration?.authentication.jwt ?? [];
  t.match(first, {
    issuer: { url: A, audiences: ['my-app', 'my-other-app'] },
    claimValidationRules: { length: 3 },
    claimMappings: { groups: { expression: 'claims.roles.split(",")' } },
    userValidationRules: { length: 2 },
    tenant: { claim: 'hd', map: { 'example.com': 'acme' } },
    usernamePrefix: 'a:',
    groupsPrefix: 'ag:',
    clockTolerance: 60_000,
  });
  t.match(second, { issuer: { url: B }, tenant: { value: 'globex' }, keysMaxAge: 3_600_000 });
  t.notMatch(second, { usernamePrefix: String });
});

t.test('the file determines which anonymous requests are allowed', async (t) => {
  const anonymous = { enabled: true, conditions: [{ path: '/livez' }, { path: '/readyz' }] };
  const text = file([issuer(A)], { anonymous });
  const { configuration, problems } = read({ own: ofA, mode: 'shared', text });
  t.same(problems, []);
  t.same(configuration?.authentication.anonymous, { enabled: true, paths: ['/livez', '/readyz'] });
  t.match(problemsOf({ own: ofA, text }), [/^auth.yaml: anonymous.enabled \(line 13\): expected false/]);
  t.match(problemsOf({ own: { ...ofA, anonymous: { enabled: true } }, mode: 'shared', text }), [
    /^authentication.anonymous .*found it in both/,
  ]);
});

t.test('the prefix "-" has no special meaning in the file', async (t) => {
  const claimMappings = { username: { claim: 'sub', prefix: '-' } };
  const { configuration } = read({ own: ofA, text: file([issuer(A, { claimMappings })]) });
  t.same(configuration?.authentication.jwt[0]?.claimMappings.username, { claim: 'sub', prefix: '-' });
});

t.test('before other files exist, only the AuthenticationConfiguration is read', async (t) => {
  const asked: string[] = [];
  const readWith = (configuration: string) =>
    readConfiguration(
      '/conf/stonegate.yaml',
      {
        env: {},
        async readFile(name) {
          asked.push(name);
          return Buffer.from(name.endsWith('stonegate.yaml') ? configuration : file([issuer(A)]));
        },
      },
      parseStonegate,
    );
  const authentication = JSON.stringify({ configurationFile: 'x.yaml', ...ofA });
  const text = configurationText({ authentication });
  const { configuration, problems } = await readWith(text);
  t.same(problems, []);
  t.equal(configuration?.authentication.jwt.length, 1);
  await readWith(configurationText({}));
  t.same(asked, ['/conf/stonegate.yaml', '/conf/x.yaml', '/conf/stonegate.yaml']);
});

function mapped(claimMappings: object, more: object = {}) {
  return file([
    issuer(A, { claimMappings: { username: { claim: 'sub', prefix: '' }, ...claimMappings }, ...more }),
  ]);
}

function byExpression(expression: string, more: object = {}) {
  return mapped({ username: { expression } }, more);
}

t.test('refused, with the file and the path:', async (t) => {
  const cases: [what: string, files: Files, problem: string][] = [
    [
      'an unknown field',
      { own: ofA, text: file([issuer(A, { tenant: { value: 'acme' } })]) },
      'auth.yaml: jwt[0].tenant: is no known key',
    ],
    [
      'a claim for an extra, which only Stonegate’s own file may have',
      { own: ofA, text: mapped({ extra: [{ key: 'example.com/x', claim: 'x' }] }) },
      'auth.yaml: jwt[0].claimMappings.extra[0].claim: is no known key',
    ],
    [
      'an egress selector',
      {
        own: ofA,
        text: file([issuer(A, { issuer: { url: A, audiences: ['a'], egressSelectorType: 'cluster' } })]),
      },
      'auth.yaml: jwt[0].issuer.egressSelectorType: is no known key',
    ],
    [
      'one audience that is no list',
      { own: ofA, text: file([issuer(A, { issuer: { url: A, audiences: 'a' } })]) },
      'auth.yaml: jwt[0].issuer.audiences: expected a list of at least one audience, and none that is empty',
    ],
    [
      'the issuer of service accounts',
      {
        own: { tenants: { 'https://kubernetes.default.svc.cluster.local': { value: 'acme' } } },
        text: file([issuer('https://kubernetes.default.svc.cluster.local')]),
      },
      'jwt[0].issuer.url: expected another issuer than the API server',
    ],
    [
      'no issuer and no other source',
      { own: {}, text: file([]) },
      'authentication.configurationFile: expected a file with at least one issuer',
    ],
    [
      'an issuer without a tenant',
      { own: ofA, text: file([issuer(A), issuer(B)]) },
      'authentication.tenants: expected an entry for each issuer of configurationFile, found none for https://b.example',
    ],
    [
      'a tenant for no issuer',
      {
        own: { tenants: { [A]: { value: 'acme' }, [`${A}/`]: { value: 'acme' } } },
        text: file([issuer(A)]),
      },
      'authentication.tenants["https://a.example/"]: expected the URL of an issuer of configurationFile',
    ],
    [
      'issuers in both files',
      {
        own: { ...ofA, jwt: [{ ...issuer(B), tenant: { value: 'b' } }] },
        text: file([issuer(A)]),
      },
      'authentication.configurationFile: expected either jwt or configurationFile, found both',
    ],
    [
      'a name from an expression without a prefix, beside another source',
      {
        own: { ...ofA, keystone: { url: 'https://k/v3' } },
        text: byExpression('claims.sub'),
      },
      'authentication.tenants["https://a.example"].usernamePrefix: expected a prefix that ends in ":", since there is more than one source, found none',
    ],
    [
      'a prefix for names from a claim, which already have one',
      { own: { tenants: { [A]: { value: 'acme', usernamePrefix: 'a:' } } }, text: file([issuer(A)]) },
      'authentication.tenants["https://a.example"].usernamePrefix: expected only where an expression produces these names',
    ],
  ];
  for (const [what, files, expected] of cases)
    t.test(what, async (t) => {
      const problems = problemsOf(files).map((problem) => problem.replace(/ \(line \d+\)/, ''));
      t.ok(
        problems.some((problem) => problem.includes(expected)),
        expected,
        { problems },
      );
    });
});

t.test('tenants without an AuthenticationConfiguration are refused', async (t) => {
  const authentication = JSON.stringify({ keystone: { url: 'https://k/v3' }, ...ofA });
  t.match(problemsOfSections({ authentication }), [
    /^authentication.tenants\["https:\/\/a.example"\].*expected only with configurationFile/,
  ]);
});

t.test('problems of single fields are reported first, then those of fields that conflict', async (t) => {
  const ownFields = { tenants: { [A]: { value: 'Acme' } }, requireAllIssuers: 'yes' };
  const fields = mapped({ uid: { claim: 'a', expression: 'claims.a' } }, { x: 1 });
  t.match(problemsOf({ own: ownFields, text: fields }), [
    /^authentication\.tenants.*"Acme"/s,
    /^authentication\.requireAllIssuers/,
  ]);
  t.match(problemsOf({ text: fields }), [/jwt\[0\]\.claimMappings\.uid/, /jwt\[0\]\.x/]);
});

t.test(
  'a portal that names an issuer of an invalid file is not reported as naming an unknown issuer',
  async (t) => {
    const login = '{ name: a, clientID: kubernetes, displayName: A }';
    const tenants = `{ "${A}": { value: acme, login: ${login} } }`;
    const own = configurationText(
      { authentication: `{ configurationFile: auth.yaml, tenants: ${tenants} }` },
      `portal:
  publicURL: https://p.example
  tls: { certFile: c, keyFile: k }
  kubernetes: { server: "https://s.example" }
  oidc: [{ name: a }]
`,
    );
    const problems = (text: string) =>
      parseStonegate(own, '/', () => Buffer.from(text)).problems.map(formatProblem);
    t.same(problems(file([issuer(A)])), []);
    t.match(problems('kind: x').join(), /^((?!portal).)+$/);
  },
);

import t from 'tap';
import { parse } from 'yaml';
import { parseStonegate } from '../../../src/app/configuration.ts';
import { formatProblem } from '../../../src/config/problem.ts';
import { parseDuration } from '../../../src/lib/go-time.ts';
import { isJSONObject } from '../../../src/lib/json-object.ts';
import { configurationText } from '../../support/configuration-problems.ts';
import { rows } from '../../support/rows.ts';

const MINIMAL = configurationText({});
const withKey = (key: string, value: string) => configurationText({ [key]: value });

function problemsOf(text: string) {
  return parseStonegate(text, '/etc/stonegate').problems.map(formatProblem);
}

function jwt(issuer: string, username: string, tenant: string, rest = '') {
  return `{ issuer: { url: "${issuer}", audiences: [kubernetes] }, claimMappings: { username: { claim: email, prefix: "${username}" }${rest} }, tenant: ${tenant} }`;
}

/** A single issuer with this tenant, and with these claim mappings in addition to the user name. */
function soleIssuer(tenant: string, rest = '') {
  return withKey('authentication', `{ jwt: [ ${jwt('https://a.example', 'a:', tenant, rest)} ] }`);
}

function twoIssuers(first: string, second: string) {
  return withKey('authentication', `{ jwt: [ ${first}, ${second} ] }`);
}

t.test('a small configuration gets its defaults, and its file names are made absolute', async (t) => {
  const { configuration, problems } = parseStonegate(MINIMAL, '/etc/stonegate');
  t.same(problems, []);
  t.match(configuration, {
    server: {
      bind: '0.0.0.0:8443',
      tls: { certFile: '/etc/stonegate/tls.crt', keyFile: '/etc/tls.key' },
      http2: true,
      workers: 1,
      drain: 10_000,
      shutdownGrace: 30_000,
      timeouts: { header: 10_000 },
    },
    admin: { bind: '127.0.0.1:9090' },
    tenancy: { systemTenant: 'system', domains: {} },
    authentication: {
      keystone: { cacheTTL: 60_000, tokenProvider: 'fernet', staleIfUnavailable: 0 },
      jwt: [],
    },
    audit: { file: '-' },
  });
});

t.test('C250 every field that is set appears in the effective configuration', async (t) => {
  const text = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server:
  bind: "[::1]:1"
  tls: { certFile: /c, keyFile: /k, clientCAFile: /ca }
  http2: false
  trustedProxies: [10.0.0.0/8, "fd00::/8"]
  workers: auto
  drain: 3s
  shutdownGrace: 1m30s
  timeouts: { header: 1s, body: 2s, idle: 3s, stall: 4s }
  limits: { headerBytes: 9000, bodyBytes: 5 }
admin: { bind: 127.0.0.1:2 }
upstream:
  server: http://127.0.0.1:6443
  caFile: /uca
  credential: { certFile: /uc, keyFile: /uk }
  headerBytes: 9001
  timeouts: { connect: 4s, response: 5s }
tenancy: { mode: shared, systemTenant: root, domains: { "Big Domain": big }, discoveryTTL: 6s, sharedAPIGroups: [a.io] }
authentication:
  keystone:
    url: https://ks/identity/v3
    caFile: /kca
    serviceCredential:
      password: { userName: u, userDomainName: d, password: { fromEnv: PW }, scope: { system: true } }
    tokenProvider: jws
    timeout: 7s
    cacheTTL: 8s
    negativeCacheTTL: 9s
    staleIfUnavailable: 10s
    roleAssignments: { cacheTTL: 11s, staleIfUnavailable: 12s }
    revocationEvents: { interval: 13s }
  jwt:
    - issuer: { url: "https://a.example", discoveryURL: "https://b.example/x", audiences: [x, y], caFile: /ica }
      algorithms: [ES256]
      claimValidationRules: [{ claim: hd, requiredValue: acme.com }]
      claimMappings:
        username: { claim: sub, prefix: "a:" }
        groups: { claim: g, prefix: "ag:" }
        uid: { claim: oid }
        extra: [{ key: example.com/x, claim: y }]
      tenant: { claim: tid, map: { one: t1 } }
      strict:
        verifiedEmail: false
        authorizedParty: false
        tokenTypes: false
        completeGroups: false
        ownKeys: false
      clockTolerance: 11s
      keysMaxAge: 12s
      keysRefreshInterval: 13s
    - issuer: { url: "https://c.example", audiences: [z] }
      claimValidationRules: [{ expression: "claims.z == 1.0", message: m }]
      claimMappings:
        username: { expression: "'c:' + claims.sub" }
        groups: { expression: "claims.g" }
        uid: { expression: "claims.oid" }
        extra: [{ key: example.com/z, valueExpression: "claims.z" }]
      userValidationRules: [{ expression: "user.uid != ''", message: n }]
      usernamePrefix: "c:"
      groupsPrefix: "cg:"
      tenant: { value: c }
  requireAllIssuers: true
  tokenFile: { file: /tokens, usernamePrefix: "t:", groupsPrefix: "tg:", systemTenantByDefault: true }
  basicAuthFile: { file: /passwords }
  tokenReview: { audiences: [kubernetes], tenant: acme, timeout: 8s, cacheTTL: 30s, negativeCacheTTL: 2s }
  anonymous: { enabled: true, paths: [/version] }
  impersonationExtraKeys: [scopes, example.com/reason]
  serviceAccountIssuers: ["https://issuer.example"]
bindings:
  provision: periodic
  interval: 23s
  credential: { tokenFile: /provisioner }
  namespaceFormat: "p-%n-%i"
  roles: { member: { role: editors } }
  createRoles: false
  storageClusterID: "7"
  subjects: users
  projects: { p1: { ignore: true, namespace: web, roles: { reader: { clusterRole: view } } } }
  domains: { d1: { ignore: false, roles: { admin: { clusterRole: boss } } } }
  ignore: { projectNames: [service], roles: [heat], users: [u1] }
  maxDeletedShare: 0.5
cache:
  maxEntries: 14
  redis:
    url: { fromFile: /url }
    caFile: /rca
    timeout: 15ms
    keyPrefix: "p:"
    sentinels: [{ host: s, port: 16 }]
    sentinelName: m
  sealingKeys: [{ fromFile: /seal }, { fromEnv: OLD }]
limits:
  unknownCredentials:
    perSource: { perSecond: 0.5, burst: 17 }
    concurrent: 18
    queue: 19
    queueTimeout: 20s
  perTenant: { perSecond: 21, burst: 22 }
  perUser: { perSecond: 24, burst: 25 }
  tenants: { acme: { perSecond: 26, burst: 27 } }
  costs: { get: 2, list: 3, watch: 4, write: 5, connect: 6 }
  shadow: true
  processes: 7
  streams: { perUser: 31, perTenant: 32, endWithCredential: false, recheck: 33s, tunnelMaxAge: 34s }
  tenantQueue: { requests: 23, bytes: 2000000 }
webhook:
  bind: 127.0.0.1:3
  path: /hook
  tls: { certFile: /wc, keyFile: /wk, clientCAFile: /wca }
  usernames: legacy
  policy: { file: /policy.json }
  sync: { configMap: { namespace: auth, name: rules } }
  configMapInterval: 23s
access:
  index: true
  maxIndexBytes: 31
  authorizers: [Node, RBAC]
  verifyOneIn: 7
  selfReviews: all
  maxNamespaces: 3
  namedSets: [{ name: managed, verb: create, apiGroup: g, resource: views, subresource: status }]
  grantable: [{ apiGroups: [g], resources: [views], resourceNames: [one], verbs: [use] }]
authorization: { hideForbidden: true, administrationsMustEnd: true }
audit: { file: /audit.log }
log: { level: debug }
`;
  const { configuration, problems } = parseStonegate(text, '/');
  t.same(problems, []);
  const { apiVersion: _version, kind: _kind, ...sections }: Record<string, unknown> = parse(text);
  t.match(configuration, inMilliseconds(sections));
});

/** The document with its durations as numbers. */
function inMilliseconds(value: unknown): unknown {
  if (typeof value === 'string') return /^\d+m?s$|^1m30s$/.test(value) ? parseDuration(value) : value;
  if (Array.isArray(value)) return value.map(inMilliseconds);
  if (!isJSONObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inMilliseconds(member)]));
}

t.test('all problems are reported together, with path and line', async (t) => {
  const text = MINIMAL.replace('mode: arktos', 'mode: bogus').replace(
    'server: "https',
    'extra: 1, server: "ftp',
  );
  t.same(problemsOf(text), [
    `upstream.server (line 4): expected the API server's address, such as https://10.0.0.1:6443 (http only on loopback; no credentials, query or fragment in it), found "ftp://10.0.0.1:6443"`,
    'upstream.extra (line 4): is no known key',
    'tenancy.mode (line 5): expected "arktos" or "shared", found "bogus"',
  ]);
});

t.test('one mistake is reported as one problem, without its consequences', async (t) => {
  const access = 'access:\n  index: true\n  authorizers: [Node, RBAC]\n';
  for (const [mistake, problem] of [
    [access.replace('index', 'indx'), 'access.indx (line 8): is no known key; did you mean index?'],
    [access.replace('true', 'ture'), 'access.index (line 8): expected true or false, found "ture"'],
    [
      'acess:\n  index: true\nauthorization: { hideForbidden: true }\n',
      'acess (line 7): is no known key; did you mean access?',
    ],
    [
      'access:\n\tindex: true\n  authorizers: [Node]\n',
      'the configuration (line 8, column 1): is no valid YAML: a tab is used to indent',
    ],
    [
      'access: { index: true, authorizers: [Node, RBAC]\naudit: {}\n',
      'the configuration (line 8, column 1): is no valid YAML: a { is not closed before this line',
    ],
  ] as const)
    t.same(problemsOf(`${MINIMAL}${mistake}`), [problem]);
});

t.test('an unknown key does not hide mistakes in other fields', async (t) => {
  const access = 'access:\n  indx: true\n  maxNamespaces: 0\n';
  t.match(problemsOf(`${MINIMAL}${access}`), [
    /^access\.maxNamespaces \(line 9\)/,
    /^access\.indx \(line 8\)/,
  ]);
  t.same(problemsOf(`${MINIMAL}log: {}\nlog: {}\naudit: {}\naudit: {}\n`), [
    'the configuration (line 8, column 1): is no valid YAML: map keys must be unique',
    'the configuration (line 10, column 1): is no valid YAML: map keys must be unique',
  ]);
});

/** What is wrong, the section with its text, and what is reported. */
const REFUSED_SECTIONS = rows(`
the key __proto__ | tenancy | { mode: arktos, domains: { __proto__: a } } | the configuration: __proto__ may not be a key
a duration without a unit | server | { tls: { certFile: a, keyFile: b }, shutdownGrace: 30 } | server.shutdownGrace (line 3): expected a duration such as 60s, 1m30s or 250ms, found 30
a request that costs more than the burst of a tenant | limits | { perTenant: { perSecond: 5, burst: 9 } } | limits.perTenant.burst (line 7): expected at least 10, the highest of limits.costs, found 9
a request that costs more than the burst of a named tenant | limits | { tenants: { acme: { perSecond: 5, burst: 10 } }, costs: { list: 11 } } | limits.tenants.acme.burst (line 7): expected at least 11, the highest of limits.costs, found 10
an address without a port | admin | { bind: localhost } | admin.bind (line 7): expected HOST:PORT
the same address for clients and operators | admin | { bind: "0.0.0.0:8443" } | admin.bind (line 7): expected another address than server.bind
every address as a trusted proxy | server | { tls: { certFile: a, keyFile: b }, trustedProxies: ["0.0.0.0/0"] } | server.trustedProxies[0] (line 3): expected a CIDR
no source of users | authentication | {} | authentication (line 6): accepts no credential
the tenant "all" for a domain in arktos mode | tenancy | { mode: arktos, domains: { D: all } } | tenancy.domains.D (line 5): expected another tenant: Arktos
"all" as the system tenant | tenancy | { mode: arktos, systemTenant: all } | tenancy.systemTenant (line 5): expected another tenant: Arktos
two domains with the same tenant | tenancy | { mode: arktos, domains: { "A B": x, "a b": x } } | tenancy.domains["a b"] (line 5): expected a tenant of its own, found "x"
Redis without sealing keys | cache | { redis: { url: { fromEnv: R } } } | cache.sealingKeys (line 7): is required with cache.redis
a secret from two places | cache | { sealingKeys: [{ fromEnv: K, fromFile: k }] } | cache.sealingKeys[0] (line 7): expected exactly one of { fromFile: … } and { fromEnv: … }
anonymous requests in arktos mode | authentication | { keystone: { url: "https://keystone:5000/v3" }, anonymous: { enabled: true } } | expected false: in arktos mode system:anonymous is a user of the system tenant
paths for anonymous requests that are disabled | authentication | { keystone: { url: "https://keystone:5000/v3" }, anonymous: { paths: [/version] } } | expected no paths unless anonymous requests are enabled`);

const REFUSED: readonly (readonly [name: string, text: string, problem: string])[] = [
  ...REFUSED_SECTIONS.map(([name, key, value, problem]) => [name, withKey(key, value), problem] as const),
  ['invalid YAML, with its line', 'a: [', 'the configuration (line 1, column 5): is no valid YAML'],
  ['a second document', `${MINIMAL}---\n${MINIMAL}`, 'is no valid YAML'],
  ['a missing section', MINIMAL.replace(/^upstream.*\n/m, ''), 'upstream: is required: expected a mapping'],
  [
    'an API server over http that is not on loopback',
    MINIMAL.replace('https://10', 'http://10'),
    'upstream.server (line 4): expected',
  ],
  [
    'a Keystone without /v3',
    MINIMAL.replace('5000/v3', '5000'),
    "authentication.keystone.url (line 6): expected Keystone's v3 address",
  ],
  [
    'an issuer over http that is not on loopback',
    withKey('authentication', `{ jwt: [ ${jwt('http://a.example', '', '{ value: a }')} ] }`),
    "authentication.jwt[0].issuer.url (line 6): expected the issuer's URL",
  ],
  [
    'two kinds of credentials for the API server',
    MINIMAL.replace('tokenFile: token', 'tokenFile: token, keyFile: k'),
    'upstream.credential (line 4): expected either tokenFile, or certFile and keyFile',
  ],
  [
    'a PEM text where a file name belongs',
    MINIMAL.replace('certFile: tls.crt', 'certFile: "-----BEGIN\\n"'),
    "server.tls.certFile (line 3): expected a file's name, not its contents",
  ],
  [
    'token reviews in shared mode without a tenant',
    MINIMAL.replace('mode: arktos', 'mode: shared').replace(
      'authentication: {',
      'authentication: { tokenReview: {},',
    ),
    'authentication.tokenReview.tenant (line 6): is required in shared mode',
  ],
  [
    'token reviews for all tenants at once',
    MINIMAL.replace('authentication: {', 'authentication: { tokenReview: { tenant: all },'),
    'authentication.tokenReview.tenant (line 6): expected another tenant',
  ],
  [
    'a CEL expression that does not compile',
    soleIssuer('{ value: a }, userValidationRules: [{ expression: "user.name == 1" }]'),
    "authentication.jwt[0].userValidationRules[0].expression (line 6): expected a CEL expression about user, found one that does not compile: undefined field 'name' at character 6",
  ],
  [
    'the same issuer twice, with and without a trailing slash',
    twoIssuers(
      jwt('https://a.example', 'a:', '{ value: a }'),
      jwt('https://A.example/', 'b:', '{ value: b }'),
    ),
    'authentication.jwt[1].issuer.url (line 6): expected an issuer of its own, found https://a.example again',
  ],
  [
    'two CAs for one issuer',
    soleIssuer('{ value: a }').replace('audiences:', 'caFile: ca, certificateAuthority: junk, audiences:'),
    'expected either caFile or certificateAuthority, found both',
  ],
  [
    'a tenant that is both fixed and taken from a claim',
    soleIssuer('{ value: a, claim: b }'),
    'authentication.jwt[0].tenant (line 6): expected { value }, { claim, map } or { claim, allow }, found { value, claim }',
  ],
  [
    'any value of a claim as a tenant',
    soleIssuer('{ claim: b }'),
    'authentication.jwt[0].tenant (line 6): expected { value }, { claim, map } or { claim, allow }, found { claim }',
  ],
  [
    'the system tenant for all users of an issuer',
    soleIssuer('{ value: system }'),
    'authentication.jwt[0].tenant.value (line 6): expected another tenant: "system" is assigned only by an entry of map',
  ],
  [
    'the system tenant from an allow-list',
    soleIssuer('{ claim: hd, allow: [a, system] }'),
    'authentication.jwt[0].tenant.allow[1] (line 6): expected another tenant',
  ],
  [
    'the tenant "all" in arktos mode, even by a map',
    soleIssuer('{ claim: hd, map: { x: all } }'),
    'authentication.jwt[0].tenant.map.x (line 6): expected another tenant: Arktos reads "all" as every tenant at once',
  ],
  [
    "C163 a user prefix that is the cluster's own",
    withKey('authentication', `{ jwt: [ ${jwt('https://a', 'system:x:', '{ value: a }')} ] }`),
    'authentication.jwt[0].claimMappings.username.prefix (line 6): expected a prefix of your own',
  ],
  [
    "C163 a groups prefix that is Keystone's",
    soleIssuer('{ value: a }', ', groups: { claim: g, prefix: "keystone:" }'),
    'authentication.jwt[0].claimMappings.groups.prefix (line 6): expected a prefix of your own',
  ],
  [
    "C163 an extra key of Kubernetes' domain",
    soleIssuer('{ value: a }', ', extra: [{ key: alpha.kubernetes.io/identity/roles, claim: r }]'),
    'extra[0].key (line 6): expected a key of a domain of your own',
  ],
  [
    'a prefix with a space',
    soleIssuer('{ value: a }', ', groups: { claim: g, prefix: "a b" }'),
    'expected a prefix without spaces',
  ],
  [
    'an empty prefix beside Keystone',
    MINIMAL.replace('/v3" }', `/v3" }, jwt: [ ${jwt('https://a', '', '{ value: a }')} ]`),
    'username.prefix (line 6): expected a prefix that ends in ":", since there is more than one source, found none',
  ],
  [
    'a prefix that another prefix starts with',
    twoIssuers(jwt('https://a', 'a:', '{ value: a }'), jwt('https://b', 'a:b:', '{ value: b }')),
    'authentication.jwt[1].claimMappings.username.prefix (line 6): expected a prefix that neither begins another\'s nor the other way round, found "a:b:" and "a:"',
  ],
  [
    'in shared mode, a prefix that is a Keystone domain',
    MINIMAL.replace('mode: arktos', 'mode: shared, domains: { Acme: acme }').replace(
      '/v3" }',
      `/v3" }, jwt: [ ${jwt('https://a', 'Acme:', '{ value: a }')} ]`,
    ),
    'expected a prefix that is no Keystone domain, found the domain "Acme"',
  ],
  [
    'a look-up of roles without a service credential',
    MINIMAL.replace('/v3" }', '/v3", roleAssignments: {} }'),
    'authentication.keystone.serviceCredential (line 6): is required with roleAssignments',
  ],
];

t.test('an invalid configuration is refused:', async (t) => {
  for (const [name, text, problem] of REFUSED)
    t.test(name, async (t) => {
      const problems = problemsOf(text);
      t.ok(
        problems.some((line) => line.includes(problem)),
        problem,
        { problems },
      );
    });
});

t.test('a secret in the configuration is refused, and the errors do not repeat it', async (t) => {
  const text = withKey('cache', '{ redis: { url: "redis://:hunter2@r" }, sealingKeys: [hunter2] }');
  const problems = problemsOf(text);
  t.equal(problems.length, 2);
  t.notMatch(problems.join(), /hunter2/);
});

t.test('C038 the prefix "-" means no prefix', async (t) => {
  const text = withKey('authentication', `{ jwt: [ ${jwt('https://a', '-', '{ value: a }')} ] }`);
  const { configuration } = parseStonegate(text, '/');
  t.same(configuration?.authentication.jwt[0]?.claimMappings.username, { claim: 'email', prefix: '' });
});

t.test('in shared mode, "all" is a tenant like any other', async (t) =>
  t.same(problemsOf(withKey('tenancy', '{ mode: shared, domains: { All: all } }')), []),
);

t.test(
  'extra keys of reserved domains, or that would arrive as other keys, cannot be impersonated',
  async (t) => {
    for (const key of ['stonegate.dev/tenant', 'a.k8s.io', 'kubernetes.io/x', 'Scopes', 'a b']) {
      const keystone = '{ url: "https://keystone:5000/v3" }';
      const text = withKey('authentication', `{ keystone: ${keystone}, impersonationExtraKeys: ["${key}"] }`);
      t.match(problemsOf(text), [/^authentication\.impersonationExtraKeys\[0\]/]);
    }
  },
);

t.test('a missing prefix is reported once, with its own line', async (t) => {
  const other = jwt('https://b', 'b:', '{ value: b }', ', groups: { claim: g, prefix: "b:" }');
  const text = twoIssuers(jwt('https://a', '', '{ value: a }'), other);
  t.match(problemsOf(text), [/^authentication\.jwt\[0\].*prefix that ends in ":".*found none$/]);
  t.equal(problemsOf(text).length, 1);
});

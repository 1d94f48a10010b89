import t from 'tap';
import { loadConfiguration } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/problem.ts';

/** Everything that is said of a configuration whose files are all missing. */
async function saidOf(yaml: string): Promise<string[]> {
  const missing = Object.assign(new Error('none'), { code: 'ENOENT' });
  const readFile = async (name: string) => {
    if (name.endsWith('stonegate.yaml')) return Buffer.from(yaml);
    throw missing;
  };
  const result = await loadConfiguration('/etc/stonegate/stonegate.yaml', { readFile, env: {} });
  return result.ok ? [] : result.problems.map(formatProblem);
}

const HEAD = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server:
  bind: 127.0.0.1:8443
  tls: { certFile: tls.crt, keyFile: tls.key }
upstream:
  server: https://127.0.0.1:6443
  credential: { tokenFile: token }
tenancy: { mode: arktos }
`;

t.test('wrong fields, contradicting fields and missing files are reported in one run', async (t) => {
  const said = await saidOf(`${HEAD}limits: { perTenant: { perSecond: -1, burst: 1 } }
log: { level: loud }
colour: blue
cache: { redis: { url: { fromEnv: REDIS_URL } } }
authentication: { keystone: { url: "https://keystone.example.com/v3", timeout: soon } }
`);
  for (const expected of [
    /^limits\.perTenant\.perSecond/,
    /^log\.level/,
    /^colour .*is no known key/,
    /^authentication\.keystone\.timeout/,
    /^cache\.sealingKeys/,
    /^server\.tls\.certFile .*expected a file/,
    /^upstream\.credential\.tokenFile .*expected a file/,
    /^cache\.redis\.url\.fromEnv .*REDIS_URL/,
  ]) {
    t.ok(
      said.some((line) => expected.test(line)),
      `${expected}\n${said.join('\n')}`,
    );
  }
});

t.test('a problem that only follows from a wrong field is not reported', async (t) => {
  const said = await saidOf(`${HEAD}authentication: { keystone: { url: 7 } }\n`);
  t.same(said.filter((line) => line.startsWith('authentication')).length, 1, said.join('\n'));
});

t.test(
  'a field that is wrong behind an anchor is wrong in both places, and the rest of both is looked at',
  async (t) => {
    const said = await saidOf(
      `${HEAD.replace('tls: {', 'tls: &tls { bogus: 1,')}portal: { bind: "127.0.0.1:8444", tls: *tls }\n`,
    );
    for (const expected of [
      /^server\.tls\.bogus/,
      /^portal\.tls\.bogus/,
      /^server\.tls\.certFile .*expected a file/,
      /^portal\.tls\.certFile .*expected a file/,
    ]) {
      t.ok(
        said.some((line) => expected.test(line)),
        `${expected}\n${said.join('\n')}`,
      );
    }
  },
);

t.test('an entry of a list that is wrong keeps its place: the others keep their paths', async (t) => {
  const jwt = (url: string, extra = '') =>
    `{ issuer: { url: "${url}", audiences: [a] }, claimMappings: { username: { claim: sub, prefix: "x:" } }, tenant: { value: acme }${extra} }`;
  const said = await saidOf(
    `${HEAD}authentication: { jwt: [${jwt('https://one.example.com', ', colour: blue')}, ${jwt('https://two.example.com')}] }\n`,
  );
  t.ok(
    said.some((line) => line.startsWith('authentication.jwt[0].colour')),
    said.join('\n'),
  );
  t.ok(
    said.some((line) => line.startsWith('authentication.jwt[1].claimMappings.username.prefix')),
    said.join('\n'),
  );
});

t.test('problems after a list entry that is left out are reported at their own lines', async (t) => {
  const said = await saidOf(`${HEAD}authentication: { keystone: { url: "https://keystone.example.com/v3" } }
cache: { sealingKeys: [7, { fromFile: second.key }] }
bindings: { credential: { tokenFile: other } }
`);
  t.ok(said.some((line) => line.startsWith('cache.sealingKeys[0]')));
  t.ok(
    said.some((line) => line.startsWith('cache.sealingKeys[1].fromFile')),
    said.join('\n'),
  );
});

t.test('a section that is wrong as a whole hides nothing of the others', async (t) => {
  const said = await saidOf(
    'apiVersion: stonegate.dev/v1alpha1\nkind: StonegateConfiguration\nserver: 7\ncache: { redis: { url: { fromEnv: NONE } } }\n',
  );
  for (const section of ['server', 'upstream', 'tenancy', 'authentication'])
    t.equal(said.filter((line) => line.startsWith(section)).length, 1, said.join('\n'));
  t.ok(said.some((line) => line.startsWith('cache.redis.url.fromEnv')));
  t.ok(said.some((line) => line.startsWith('cache.sealingKeys')));
  t.notMatch(said.join('\n'), /dev\/null|stand-in/, 'of what stands in for them nothing is told');
});

t.test('problems that depend on a wrong tenancy mode are not reported', async (t) => {
  const said = await saidOf(`${HEAD.replace('arktos', 'Arktos')}authentication:
  anonymous: { enabled: true }
  tokenReview: {}
  keystone: { url: "https://keystone.example.com/v3", roleAssignments: {} }
`);
  t.ok(said.some((line) => line.startsWith('tenancy.mode')));
  t.ok(said.some((line) => line.startsWith('authentication.keystone.serviceCredential')));
  t.notMatch(said.join('\n'), /anonymous|tokenReview/);
});

t.test('an address that is wrong is not taken for its default', async (t) => {
  const said = await saidOf(
    `${HEAD.replace('127.0.0.1:8443', 'nowhere')}admin: { bind: "0.0.0.0:8443" }\nauthentication: {}\n`,
  );
  t.ok(said.some((line) => line.startsWith('server.bind')));
  t.notMatch(said.join('\n'), /admin\.bind/);
});

t.test('an issuer that is wrong is not missed by the portal that names it', async (t) => {
  const said = await saidOf(`${HEAD}authentication:
  jwt:
    - issuer: { url: "http://a.example", audiences: [web] }
      claimMappings: { username: { claim: sub, prefix: "a:" } }
      tenant: { value: acme }
portal:
  publicURL: https://p.example
  tls: { certFile: c, keyFile: k }
  kubernetes: { server: "https://p.example:8443" }
  oidc: [{ name: a, issuer: "https://a.example", clientID: web, displayName: A }]
`);
  t.ok(said.some((line) => line.startsWith('authentication.jwt[0].issuer.url')));
  t.notMatch(said.join('\n'), /portal\.oidc/);
  t.match(said.join('\n'), /portal\.publicURL .*another host name/, 'what no issuer decides is told');
});

t.test('a document that is none says so and no more', async (t) => {
  t.equal((await saidOf('[]\n')).length, 1);
});

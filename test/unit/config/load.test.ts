import { resolve } from 'node:path';
import { generate } from 'selfsigned';
import t from 'tap';
import { loadStonegate } from '../../../src/app/configuration.ts';
import type { LoadResult, LoadSources } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/problem.ts';
import { abacPoliciesOf } from '../../../src/features/cross-tenant/abac-file.ts';
import { filesIn } from '../../support/configuration-problems.ts';
import { ALICE_READS_PODS, abacLine } from '../../support/policies.ts';
import { createAuthority } from '../../support/tls/authority.ts';

const authority = await createAuthority();
const server = await authority.server('localhost');
const other = await authority.server('localhost');
const weak = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 512 });

const CONFIGURATION = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: tls.crt, keyFile: tls.key, clientCAFile: ca.crt } }
upstream: { server: "https://10.0.0.1:6443", caFile: ca.crt, credential: { tokenFile: token } }
tenancy: { mode: arktos }
authentication:
  keystone:
    url: https://keystone:5000/v3
    serviceCredential: { applicationCredential: { id: a, secret: { fromEnv: SECRET } } }
cache:
  redis: { url: { fromEnv: REDIS_URL } }
  sealingKeys: [{ fromFile: seal }]
`;

const FILES: Readonly<Record<string, string>> = {
  'stonegate.yaml': CONFIGURATION,
  'tls.crt': server.cert,
  'tls.key': server.key,
  'ca.crt': authority.cert,
  token: 'abc.def\n',
  seal: `${Buffer.alloc(32, 7).toString('base64')}\n`,
};

const ENV = { SECRET: 's3cret', REDIS_URL: 'rediss://:hunter2@redis:6379' };

function load(changes: Readonly<Record<string, string | undefined>> = {}, env: LoadSources['env'] = ENV) {
  return loadStonegate('/etc/stonegate/stonegate.yaml', filesIn({ ...FILES, ...changes }, env));
}

function problemsOf(result: LoadResult<object>) {
  return result.ok ? [] : result.problems.map(formatProblem);
}

t.test(
  'a valid configuration is loaded with the content of every file and secret that it names',
  async (t) => {
    const result = await load();
    t.same(problemsOf(result), []);
    if (!result.ok) return;
    const { loaded, watched } = result;
    t.equal(loaded.file('/etc/stonegate/tls.crt').toString(), server.cert);
    t.equal(loaded.secret({ fromEnv: 'SECRET' }), 's3cret');
    t.equal(loaded.secret({ fromFile: '/etc/stonegate/seal' }), Buffer.alloc(32, 7).toString('base64'));
    t.throws(() => loaded.file('/etc/passwd'), RangeError);
    t.throws(() => loaded.secret({ fromEnv: 'NOT_SET' }), RangeError);
    t.same(
      [...watched.keys()].sort(),
      Object.keys(FILES)
        .map((name) => `/etc/stonegate/${name}`)
        .sort(),
    );
  },
);

for (const [digest, what, change, differs] of [
  ['identityDigest', 'the identity of users', CONFIGURATION.replace('arktos', 'shared'), true],
  ['identityDigest', 'the log', `${CONFIGURATION}log: { level: debug }\n`, false],
  ['digest', 'the identity of users', CONFIGURATION.replace('arktos', 'shared'), true],
  ['digest', 'the log', `${CONFIGURATION}log: { level: debug }\n`, true],
] as const)
  t.test(`${digest} is ${differs ? 'another' : 'the same'} after a change of ${what}`, async (t) => {
    const [before, after] = [await load({}), await load({ 'stonegate.yaml': change })];
    t.same([...problemsOf(before), ...problemsOf(after)], []);
    if (before.ok && after.ok) t.equal(before.loaded[digest] !== after.loaded[digest], differs);
  });

t.test(
  'neither digest changes with a certificate or a key, which replicas may have of their own',
  async (t) => {
    const [before, after] = [await load({}), await load({ 'tls.crt': other.cert, 'tls.key': other.key })];
    t.same([...problemsOf(before), ...problemsOf(after)], []);
    if (!before.ok || !after.ok) return;
    t.equal(after.loaded.identityDigest, before.loaded.identityDigest);
    t.equal(after.loaded.digest, before.loaded.digest);
  },
);

t.test('the error about a missing configuration file names it', async (t) => {
  const result = await loadStonegate('/etc/stonegate/none.yaml', filesIn(FILES));
  t.same(problemsOf(result), [
    'the configuration: cannot be read from /etc/stonegate/none.yaml: no such file',
  ]);
  t.same([...result.watched.keys()], ['/etc/stonegate/none.yaml']);
});

t.test(
  'file names are relative to the configuration file, which itself may have a relative name',
  async (t) => {
    const names: string[] = [];
    const readFile = async (name: string) => {
      names.push(name);
      throw Object.assign(new Error('denied'), { code: 'EACCES' });
    };
    const result = await loadStonegate('some/file.yaml', { readFile, env: {} });
    t.same(names, [resolve('some/file.yaml')]);
    t.match(problemsOf(result), [/one this process may not read$/]);
  },
);

const BAD: readonly [name: string, changes: Readonly<Record<string, string | undefined>>, problem: string][] =
  [
    [
      'a missing file',
      { 'tls.crt': undefined },
      'server.tls.certFile (line 3): expected a file that can be read, found no such file: /etc/stonegate/tls.crt',
    ],
    [
      'a broken certificate in a chain',
      { 'tls.crt': `${server.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n` },
      'server.tls.certFile (line 3): expected certificates in PEM, found that number 2 is broken',
    ],
    [
      'a key that TLS does not accept',
      { 'tls.crt': weak.cert, 'tls.key': weak.private },
      'server.tls.keyFile (line 3): expected a certificate and a key that TLS takes, found what OpenSSL calls "ee key too small"',
    ],
    [
      'certificates joined without a line break',
      { 'tls.crt': `${server.cert.trim()}${other.cert}` },
      'server.tls.keyFile (line 3): expected a certificate and a key that TLS takes, found what OpenSSL calls "bad end line"',
    ],
    [
      'a token file with a second line',
      { token: 'abc\ndef\n' },
      'upstream.credential.tokenFile (line 4): expected one bearer token',
    ],
    [
      'a token where a file name belongs',
      { 'stonegate.yaml': CONFIGURATION.replace('tokenFile: token', `tokenFile: ${'x'.repeat(80)}`) },
      'is it the secret itself?',
    ],
  ];

t.test('an invalid file or secret is refused:', async (t) => {
  for (const [name, changes, problem] of BAD)
    t.test(name, async (t) => {
      const problems = problemsOf(await load(changes));
      t.ok(
        problems.some((line) => line.includes(problem)),
        problem,
        { problems },
      );
    });
});

t.test('a Redis URL with an unsupported scheme is refused, and the error does not repeat it', async (t) => {
  for (const url of ['http://:hunter2@redis', 'redis://:hunter2@redis/name', 'unix:', ':hunter2@redis']) {
    const problems = problemsOf(await load({}, { ...ENV, REDIS_URL: url }));
    t.match(problems, [/^cache\.redis\.url\.fromEnv .*: expected redis:\/\/HOST/], url);
    t.notMatch(problems.join(), /hunter2/);
  }
  for (const url of ['redis://redis', 'rediss://:hunter2@[::1]:6380/2', 'unix:///run/redis.sock'])
    t.same(problemsOf(await load({}, { ...ENV, REDIS_URL: url })), [], url);
});

t.test(
  'an AuthenticationConfiguration is read, watched, and part of the digest, like any other file',
  async (t) => {
    const configuration = CONFIGURATION.replace(
      'authentication:',
      'authentication:\n  configurationFile: auth.yaml\n  tenants: { "https://a.example": { value: acme, usernamePrefix: "a:" } }',
    );
    const file = (expression: string) => `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: { url: "https://a.example", audiences: [kubernetes] }
  claimMappings: { username: { expression: ${JSON.stringify(expression)} } }
`;
    const loadWith = (auth: string | undefined) =>
      load({ 'stonegate.yaml': configuration, 'auth.yaml': auth });
    const [first, second] = [await loadWith(file('claims.sub')), await loadWith(file('claims.oid'))];
    t.same([...problemsOf(first), ...problemsOf(second)], []);
    t.ok(first.watched.has('/etc/stonegate/auth.yaml'));
    if (first.ok && second.ok) t.not(first.loaded.identityDigest, second.loaded.identityDigest);
    const wrong = await loadWith(file('claims.sub +'));
    t.match(problemsOf(wrong), [/^auth.yaml: jwt\[0\].claimMappings.username.expression \(line 5\)/]);
    t.ok(wrong.watched.has('/etc/stonegate/auth.yaml'), 'an invalid file is watched as well');
    t.match(problemsOf(await loadWith(undefined)), [
      /^authentication.configurationFile \(line 7\): expected a file that can be read, found no such file/,
    ]);
  },
);

t.test('D315 an invalid line of the policy file is reported with file, line and reason', async (t) => {
  const configuration = `${CONFIGURATION}authorization: { abacPolicyFile: policies.jsonl }
bindings: { credential: { tokenFile: provisioner } }
`;
  const loadWith = (text: string | undefined) =>
    load({ 'stonegate.yaml': configuration, provisioner: 'abc', 'policies.jsonl': text });
  const good = await loadWith(`${abacLine()}\n`);
  t.same(problemsOf(good), []);
  t.ok(good.watched.has('/etc/stonegate/policies.jsonl'));
  if (good.ok) t.equal(abacPoliciesOf(good.loaded.configuration, good.loaded.file).policies.length, 1);
  const lines = [...Array(6).fill('# comment'), '{"apiVersion":', abacLine()];
  t.same(problemsOf(await loadWith(lines.join('\n'))), [
    'policies.jsonl: the file (line 7, column 15): expected one JSON object: it is not JSON',
  ]);
  t.same(problemsOf(await loadWith(abacLine({ ...ALICE_READS_PODS, space: 'system' }))), [
    'policies.jsonl: spec.space (line 1): expected the name of one tenant that users of others may enter, found "system"',
  ]);
  t.match(problemsOf(await loadWith(undefined)), [
    /^authorization.abacPolicyFile \(line 13\): expected a file that can be read, found no such file/,
  ]);
  t.same((await loadWith('')).ok, true, 'an empty file contains no policy');
});

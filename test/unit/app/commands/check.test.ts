import { join } from 'node:path';
import t from 'tap';
import { check } from '../../../../src/app/commands/check.ts';
import { systemSources } from '../../../../src/config/load.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { printedIO } from '../../../support/printed-io.ts';
import { createAuthority } from '../../../support/tls/authority.ts';

const { cert, key } = await (await createAuthority()).server('localhost');

const CONFIGURATION = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: tls.crt, keyFile: tls.key } }
upstream: { server: "https://10.0.0.1:6443", credential: { tokenFile: token } }
tenancy: { mode: arktos }
authentication: { keystone: { url: "https://keystone:5000/v3" } }
`;

async function run(argv: readonly string[], clock = createFakeClock()) {
  const { io, printed } = printedIO();
  const code = await check(['--offline', ...argv], io, systemSources, clock);
  return { code, ...printed };
}

t.test('a good configuration is a 0 and one line', async (t) => {
  const folder = t.testdir({ 'c.yaml': CONFIGURATION, 'tls.crt': cert, 'tls.key': key, token: 'abc' });
  const file = join(folder, 'c.yaml');
  t.same(await run(['--config', file]), { code: 0, stdout: `${file} is good\n`, stderr: '' });
});

t.test('an expired certificate is a warning and still a 0: serve would start with it', async (t) => {
  const folder = t.testdir({ 'c.yaml': CONFIGURATION, 'tls.crt': cert, 'tls.key': key, token: 'abc' });
  const file = join(folder, 'c.yaml');
  const { code, stdout, stderr } = await run(['--config', file], createFakeClock(Date.UTC(2200, 0)));
  t.equal(code, 0);
  t.equal(stdout, `${file} is good, with 1 warning\n`);
  t.match(stderr, /^warning: server\.tls\.certFile: the certificate has expired at [^\n]+\n$/);
});

t.test('each problem is printed with its path, and it is a 1', async (t) => {
  const folder = t.testdir({ 'c.yaml': CONFIGURATION, 'tls.crt': cert, 'tls.key': '', token: '' });
  const { code, stdout, stderr } = await run(['--config', join(folder, 'c.yaml')]);
  t.equal(code, 1);
  t.equal(stdout, '');
  t.match(
    stderr,
    /^server\.tls\.keyFile \(line 3\): .*\nupstream\.credential\.tokenFile \(line 4\): .*\n.*: 2 problems\n$/,
  );
});

const EVERY_CLASS = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: tls.crt, keyFile: other.key }, trustedProxies: [10.0.0.0/8, everywhere] }
upstream: { server: "ftp://10.0.0.1", credential: { tokenFile: missing } }
tenancy: { mode: arktos }
authentication:
  keystone: { url: "https://keystone:5000/v3", colour: blue }
  configurationFile: authentication.yaml
  tenants:
    https://a.example: { value: acme }
  tokenFile: { file: tokens.csv }
cache: { redis: { url: { fromEnv: NO_SUCH_VARIABLE_HERE } }, sealingKeys: [{ fromFile: sealing.key }] }
portal:
  publicURL: https://login.example.com
  tls: { certFile: tls.crt }
  kubernetes: { server: "https://login.example.com:8443" }
  oidc:
    - { name: acme, issuer: "https://a.example", clientID: web, displayName: Acme }
    - { issuer: "https://b.example", clientID: web, displayName: Globex }
    - { name: acme, issuer: "https://c.example", clientID: web, displayName: Acme }
webhook:
  tls: { certFile: tls.crt, keyFile: tls.key, clientCAFile: tls.crt }
  policy: { file: policy.json }
`;
const AUTHENTICATION = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
  - issuer: { url: "https://a.example", audiences: [web], size: large }
    claimMappings: { username: { claim: sub, prefix: "a:" }, uid: { expression: "claims.sub +" } }
`;

/** The fields of the configuration are valid. */
const VALID_FIELDS = EVERY_CLASS.replace('ftp:', 'https:')
  .replace(', everywhere', '')
  .replace(', colour: blue', '')
  .replace('{ certFile: tls.crt }\n', '{ certFile: tls.crt, keyFile: tls.key }\n')
  .replace('{ issuer: "https://b.example"', '{ name: globex, issuer: "https://b.example"');

const VALID_SECTIONS = VALID_FIELDS.replace(
  '{ name: acme, issuer: "https://c',
  '{ name: other, issuer: "https://c',
);

for (const { what, text, other, problems } of [
  {
    what: 'all invalid fields of the configuration are reported in one run',
    text: EVERY_CLASS,
    other: AUTHENTICATION,
    problems: [
      /^upstream\.server \(line 4\): /m,
      /^server\.trustedProxies\[1\] \(line 3\): /m,
      /^authentication\.keystone\.colour \(line 7\): /m,
      /^portal\.oidc\[1\]\.name \(line 19\): /m,
      /^portal\.tls\.keyFile .*is required/m,
    ],
  },
  {
    what: 'then what does not go together within a section',
    text: VALID_FIELDS,
    other: AUTHENTICATION,
    problems: [/^portal\.oidc\[2\]\.name \(line 20\): .*found acme again/m],
  },
  {
    what: 'then those of the AuthenticationConfiguration',
    text: VALID_SECTIONS,
    other: AUTHENTICATION,
    problems: [
      /^authentication\.yaml: jwt\[0\]\.issuer\.size \(line 4\): /m,
      /^authentication\.yaml: jwt\[0\]\.claimMappings\.uid\.expression /m,
    ],
  },
  {
    what: 'then what does not go together, and what is wrong with the files',
    text: VALID_SECTIONS,
    other: AUTHENTICATION.replace(', size: large', '').replace('claims.sub +', 'claims.sub'),
    problems: [
      /^portal\.publicURL \(line 14\): expected another host name/m,
      /^portal\.oidc\[1\]\.issuer \(line 19\): expected the URL of an issuer/m,
      /^portal\.oidc\[2\]\.issuer \(line 20\): expected the URL of an issuer/m,
      /^upstream\.credential\.tokenFile \(line 4\): .*no such file/m,
      /^cache\.redis\.url\.fromEnv \(line 12\): .*NO_SUCH_VARIABLE_HERE/m,
      /^cache\.sealingKeys\[0\]\.fromFile \(line 12\): expected 32 bytes/m,
      /^server\.tls\.keyFile \(line 3\): .*found another's/m,
      /^authentication\.tokenFile\.file \(line 11\): line 1: /m,
      /^webhook\.policy\.file \(line 23\): /m,
    ],
  },
])
  t.test(what, async (t) => {
    const folder = t.testdir({
      'c.yaml': text,
      'authentication.yaml': other,
      'tls.crt': cert,
      'tls.key': key,
      'other.key': (await (await createAuthority()).server('localhost')).key,
      'sealing.key': 'short',
      'tokens.csv': 'a-token,alice,1\n',
      'policy.json': 'no policy',
    });
    const { stderr } = await run(['--config', join(folder, 'c.yaml')]);
    for (const problem of problems) t.match(stderr, problem);
    t.equal(stderr.trim().split('\n').length, problems.length + 1, 'and nothing else');
  });

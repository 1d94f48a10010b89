import { join } from 'node:path';
import t from 'tap';
import { check } from '../../../../src/app/commands/check.ts';
import { systemSources } from '../../../../src/config/load.ts';
import { configurationText } from '../../../support/configuration-problems.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { printedIO } from '../../../support/printed-io.ts';
import { createAuthority } from '../../../support/tls/authority.ts';

const { cert, key } = await (await createAuthority()).server('localhost');

const CONFIGURATION = configurationText({ server: '{ tls: { certFile: tls.crt, keyFile: tls.key } }' });

async function run(argv: readonly string[], clock = createFakeClock()) {
  const { io, printed } = printedIO();
  const code = await check(['--offline', ...argv], io, systemSources, clock);
  return { code, ...printed };
}

t.test(
  'an expired certificate is a warning and the exit code is 0, since `serve` would start with it',
  async (t) => {
    const folder = t.testdir({ 'c.yaml': CONFIGURATION, 'tls.crt': cert, 'tls.key': key, token: 'abc' });
    const file = join(folder, 'c.yaml');
    const { code, stdout, stderr } = await run(['--config', file], createFakeClock(Date.UTC(2200, 0)));
    t.equal(code, 0);
    t.equal(stdout, `${file} is good, with 1 warning\n`);
    t.match(stderr, /^warning: server\.tls\.certFile: the certificate has expired at [^\n]+\n$/);
  },
);

const AUTHENTICATION = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
  - issuer: { url: "https://a.example", audiences: [web] }
    claimMappings: { username: { claim: sub, prefix: "a:" } }
`;

t.test('conflicting settings and invalid files are reported in one run', async (t) => {
  const folder = t.testdir({
    'c.yaml': `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: tls.crt, keyFile: other.key } }
upstream: { server: "https://10.0.0.1", credential: { tokenFile: missing } }
tenancy: { mode: arktos }
authentication:
  keystone: { url: "https://keystone:5000/v3" }
  configurationFile: authentication.yaml
  tenants:
    https://a.example: { value: acme, login: { name: acme, displayName: Acme, clientID: web } }
  tokenFile: { file: tokens.csv }
cache: { redis: { url: { fromEnv: NO_SUCH_VARIABLE_HERE } }, sealingKeys: [{ fromFile: sealing.key }] }
portal:
  publicURL: https://login.example.com
  tls: { certFile: tls.crt, keyFile: tls.key }
  kubernetes: { server: "https://login.example.com:8443" }
  oidc:
    - { name: acme, clientID: web }
    - { name: globex, clientID: web }
webhook:
  tls: { certFile: tls.crt, keyFile: tls.key, clientCAFile: tls.crt }
  policy: { file: policy.json }
`,
    'authentication.yaml': AUTHENTICATION,
    'tls.crt': cert,
    'tls.key': key,
    'other.key': (await (await createAuthority()).server('localhost')).key,
    'sealing.key': 'short',
    'tokens.csv': 'a-token,alice,1\n',
    'policy.json': 'no policy',
  });
  const { code, stderr } = await run(['--config', join(folder, 'c.yaml')]);
  t.equal(code, 1);
  const problems = [
    /^portal\.publicURL \(line 14\): expected another host name/m,
    /^portal\.oidc\[1\]\.name \(line 19\): expected the name of a login in authentication\.jwt\[\]\.login; there is acme$/m,
    /^upstream\.credential\.tokenFile \(line 4\): .*no such file/m,
    /^cache\.redis\.url\.fromEnv \(line 12\): .*NO_SUCH_VARIABLE_HERE/m,
    /^cache\.sealingKeys\[0\]\.fromFile \(line 12\): expected 32 bytes/m,
    /^server\.tls\.keyFile \(line 3\): .*found another's/m,
    /^authentication\.tokenFile\.file \(line 11\): line 1: /m,
    /^policy\.json: the file \(line 1, column 1\): is no usable JSON/m,
  ];
  for (const problem of problems) t.match(stderr, problem);
  t.equal(stderr.trim().split('\n').length, problems.length + 1, 'nothing else is printed');
});

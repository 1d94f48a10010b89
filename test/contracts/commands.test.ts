/**
 * The commands as users call them: their options, their exit codes and what they print to standard output.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { runStonegate, runStonegateCalls } from '../support/stonegate-process.ts';
import { createAuthority } from '../support/tls/authority.ts';
import { asJSON, sameAsRecorded } from './recorded.ts';

const COMMANDS = [
  'serve',
  'check',
  'manifests',
  'cache',
  'login',
  'logout',
  'kubeconfig',
  'whoami',
  'access',
  'quota',
  'token',
  'explain',
  'who-can',
  'publish',
  'sync',
  'usage',
  'completion',
];

t.test('the commands and their options are as recorded', async (t) => {
  const general = await runStonegate('--help');
  t.equal(general.code, 0);
  const commands = [...general.stdout.matchAll(/^ {2}([a-z][a-z-]*) {2,}/gm)].map(([, name]) => name);
  const options: Record<string, readonly string[]> = {};
  const helped = await runStonegateCalls(COMMANDS.map((command) => [command, '--help']));
  for (const [index, { code, stdout, stderr }] of helped.entries()) {
    const command = COMMANDS[index] ?? '';
    t.same({ code, stderr }, { code: 0, stderr: '' });
    t.same(
      stdout.split('\n').filter((line) => line.length > 80),
      [],
      `${command} --help fits in 80 columns`,
    );
    options[command] = [...new Set(stdout.match(/(?<![\w-])--?[a-z][a-z-]*/g))].sort();
  }
  sameAsRecorded(t, 'commands/options.json', asJSON({ commands, options }));
});

const CALLS: readonly (readonly string[])[] = [
  [],
  ['--version'],
  ['-h'],
  ['help'],
  ['help', 'check'],
  ['help', 'no-such-command'],
  ['no-such-command'],
  // Without options, these commands read the kubeconfig of this machine.
  ...COMMANDS.filter((command) => !['whoami', 'access', 'quota', 'who-can'].includes(command)).map(
    (command) => [command],
  ),
  ...COMMANDS.map((command) => [command, '--no-such-option']),
  ['check', '--config', 'no-such-file'],
  ['serve', '--config', 'no-such-file'],
  ['sync', '--config', 'no-such-file'],
  ['cache', 'drop', '--config', 'no-such-file'],
  ['cache', 'drop', '--user', 'a', '--tenant', 'b', '--config', 'no-such-file'],
  ['cache', 'drop', '--user', 'a', '--config', 'no-such-file'],
  ['manifests', 'rbac', '--config', 'no-such-file'],
  ['manifests', 'rbac', '--mode', 'none'],
  ['manifests', 'rbac', '--mode', 'arktos', '--constrained'],
  ['manifests', 'rbac', '--mode', 'shared', '--constrained', '--provisioner'],
  ['manifests', 'rbac', '--mode', 'shared', '--user', 'a', '--service-account', 'b/c'],
  ['login', '--keystone', '--oidc'],
  ['whoami', '--kubeconfig', 'no-such-file'],
  ['whoami', '-o', 'xml'],
  ['access', '--kubeconfig', 'no-such-file'],
  ['access', '-o', 'xml'],
  ['explain', 'get', 'pods', '--kubeconfig', 'no-such-file', '--context', 'none'],
  ['token', 'create', '-o', 'json'],
  ['token', 'list', '-o', 'xml'],
  ['token', 'rotate'],
  ['token', 'revoke'],
  ['kubeconfig', '--server', 'http://plain.example', '--', '--oidc'],
];

t.test('exit codes are as recorded, and a failed command prints nothing to standard output', async (t) => {
  const codes: string[] = [];
  for (const [index, { code, stdout }] of (await runStonegateCalls(CALLS)).entries()) {
    const words = CALLS[index] ?? [];
    codes.push(`${code} stonegate ${words.join(' ')}`.trimEnd());
    t.equal(stdout === '', code !== 0, words.join(' '));
  }
  sameAsRecorded(t, 'commands/exit-codes.txt', `${codes.join('\n')}\n`);
});

const MANIFESTS: Readonly<Record<string, readonly string[]>> = {
  arktos: ['--mode', 'arktos'],
  'arktos-user': ['--mode', 'arktos', '--user', 'proxy'],
  'arktos-provisioner': ['--mode', 'arktos', '--provisioner'],
  shared: ['--mode', 'shared'],
  'shared-service-account': ['--mode', 'shared', '--service-account', 'ops/bridge'],
  'shared-user': ['--mode', 'shared', '--user', 'proxy'],
  'shared-constrained': ['--mode', 'shared', '--constrained'],
  'shared-provisioner': ['--mode', 'shared', '--provisioner'],
};

t.test('manifests rbac prints what is recorded', async (t) => {
  const calls = Object.values(MANIFESTS).map((words) => ['manifests', 'rbac', ...words]);
  const results = await runStonegateCalls(calls);
  for (const [index, name] of Object.keys(MANIFESTS).entries()) {
    const { code, stdout, stderr } = results[index] ?? {};
    t.same({ code, stderr }, { code: 0, stderr: '' }, name);
    sameAsRecorded(t, `manifests/${name}.yaml`, stdout ?? '');
  }
});

const configuration = (mode: string) => `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: tls.crt, keyFile: tls.key } }
upstream: { server: "https://10.0.0.1:6443", caFile: ca.crt, credential: { tokenFile: token } }
tenancy: { mode: ${mode} }
authentication:
  keystone: { url: "https://keystone.example/v3" }
  tokenReview: { tenant: acme }
  impersonationExtraKeys: [scopes]
  jwt:
    - issuer: { url: "https://a.example", audiences: [kubectl] }
      claimMappings:
        username: { claim: sub, prefix: "a:" }
        extra: [{ key: example.com/department, claim: dep }]
      tenant: { value: a }
bindings:
  credential: { tokenFile: provisioner-token }
  createRoles: true
  roles: { member: edit, auditor: { role: auditor } }
  domains: { acme: { roles: { reader: view } } }
access: { index: true, authorizers: [Node, RBAC] }
webhook:
  tls: { certFile: tls.crt, keyFile: tls.key, clientCAFile: ca.crt }
  policy: { configMap: { namespace: kube-system, name: k8s-auth-policy } }
`;

for (const mode of ['arktos', 'shared']) {
  t.test(`${mode}: manifests rbac --config and check print what is recorded`, async (t) => {
    const folder = t.testdir();
    const authority = await createAuthority();
    const { cert, key } = await authority.server('stonegate');
    const files = {
      'tls.crt': cert,
      'tls.key': key,
      'ca.crt': authority.cert,
      token: 'a-token',
      'provisioner-token': 'another-token',
      'good.yaml': configuration(mode),
      'bad.yaml': `${configuration(mode)}audit: { fiel: x }\n`,
    };
    for (const [name, content] of Object.entries(files))
      await writeFile(join(folder, name), content, { mode: 0o600 });
    const config = join(folder, 'good.yaml');
    for (const kind of ['rbac', 'provisioner']) {
      const words = kind === 'rbac' ? [] : ['--provisioner'];
      const printed = await runStonegate('manifests', 'rbac', '--config', config, ...words);
      t.equal(printed.code, 0, printed.stderr);
      sameAsRecorded(t, `manifests/configured-${mode}-${kind}.yaml`, printed.stdout);
    }
    const good = await runStonegate('check', '--offline', '--config', config);
    const bad = await runStonegate('check', '--offline', '--config', join(folder, 'bad.yaml'));
    t.equal(good.code, 0, good.stderr);
    t.equal(bad.code, 1);
    const lines = bad.stderr.replaceAll(folder, 'FOLDER').trim().split('\n');
    const paths = lines.map((line) => line.slice(0, line.indexOf(':')));
    const plain = good.stdout.replaceAll(folder, 'FOLDER');
    sameAsRecorded(
      t,
      `commands/check-${mode}.json`,
      asJSON({ good: plain, bad: { stdout: bad.stdout, paths } }),
    );
  });
}

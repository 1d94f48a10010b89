import { join } from 'node:path';
import t from 'tap';
import { check } from '../../../src/cli/check.ts';
import { systemSources } from '../../../src/config/load.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createAuthority } from '../../support/tls/authority.ts';

const { cert, key } = await (await createAuthority()).server('localhost');

const CONFIGURATION = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: tls.crt, keyFile: tls.key } }
upstream: { server: "https://10.0.0.1:6443", credential: { tokenFile: token } }
tenancy: { mode: arktos }
authentication: { keystone: { url: "https://keystone:5000/v3" } }
`;

async function run(argv: readonly string[], clock = createFakeClock()) {
  const printed = { stdout: '', stderr: '' };
  const io = {
    stdout: (text: string) => {
      printed.stdout += text;
    },
    stderr: (text: string) => {
      printed.stderr += text;
    },
  };
  const code = await check(argv, io, systemSources, clock);
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

t.test('one problem is one problem', async (t) => {
  const { code, stderr } = await run(['--config', '/none/such.yaml']);
  t.equal(code, 1);
  t.match(stderr, /: 1 problem\n$/);
});

t.test('--help says how it is used', async (t) => {
  const { code, stdout } = await run(['--help']);
  t.equal(code, 0);
  t.match(stdout, /^Usage: stonegate check --config FILE/);
});

for (const [name, argv, message] of [
  ['without a file', [], '--config FILE is required'],
  ['with an unknown option', ['--confg', 'x'], "Unknown option '--confg'"],
  ['with an argument too many', ['--config', 'x', 'y'], 'unexpected argument y'],
] as const) {
  t.test(`${name} it is wrong usage, a 2`, async (t) => {
    const { code, stderr } = await run(argv);
    t.equal(code, 2);
    t.match(stderr, message);
    t.match(stderr, 'Usage: stonegate check');
  });
}

/** The client: the commands of users in one file, as a user installs it from the portal. */
import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { OPERATOR_COMMANDS } from '../../src/app/operator-commands.ts';
import { startStonegate } from '../support/stonegate.ts';

const folder = t.testdir({ home: { 'package.json': '{}' } });
// tap puts its own loader into NODE_OPTIONS of every child.
const env = { PATH: `${join(process.cwd(), 'node_modules/.bin')}:${process.env.PATH}`, HOME: folder };
const build = (file: string) => {
  const { stderr } = spawnSync('npm', ['run', '-s', 'build:client', '--', join(folder, file)], { env });
  t.equal(stderr.toString(), '', 'esbuild has no warnings');
  return readFileSync(join(folder, file), 'utf8');
};
const text = build('stonegate.cjs');
const program = join(folder, 'home', 'stonegate');
copyFileSync(join(folder, 'stonegate.cjs'), program);

function stonegate(...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: '/', env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

t.test('every build of the client is identical, and has the licences of its packages', async (t) => {
  t.equal(build('again.cjs'), text);
  const licences = text.slice(0, text.indexOf('*/'));
  for (const name of ['jose', 'openid-client', 'undici', 'yaml', 'zod']) t.match(licences, `\n${name} `);
  t.match(licences, 'Permission is hereby granted, free of charge');
});

t.test('the client has the commands of users, and says where those of operators are', async (t) => {
  const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
  t.same(stonegate('version'), { status: 0, stdout: `${version}\n`, stderr: '' });
  const { stdout } = stonegate('--help');
  const names = [...stdout.matchAll(/^ {2}([a-z][a-z-]*) {2,}/gm)].map(([, name = '']) => name);
  t.match(names, [
    'login',
    'logout',
    'kubeconfig',
    'whoami',
    'access',
    'quota',
    'members',
    'invite',
    'token',
    'teams',
    'explain',
    'who-can',
    'completion',
  ]);
  for (const name of names) t.match(stonegate('help', name), { status: 0, stderr: '' }, name);
  for (const name of Object.keys(OPERATOR_COMMANDS))
    t.match(
      stonegate(name),
      { status: 2, stdout: '', stderr: /^stonegate: this is the client: .*\n$/ },
      name,
    );
  const explained = stonegate('explain', 'get', 'pods', '--config', 'stonegate.yaml');
  t.match(explained, { status: 2, stderr: /this is the client: --config/ });
  t.match(stonegate('no-such-command'), { status: 2, stderr: /unknown command/ });
  t.match(stonegate('completion', 'bash').stdout, /complete -o default -F _stonegate stonegate/);
});

t.test('a user logs in at Keystone with the client, and runs whoami', async (t) => {
  const files = join(t.testdir(), 'stonegate');
  const { keystone, url } = await startStonegate(t, { folder: files });
  const user = { OS_USERNAME: 'alice', OS_PASSWORD: 'alice-pass', OS_USER_DOMAIN_NAME: 'acme' };
  const cloud = { OS_AUTH_URL: keystone.url, OS_CACERT: join(files, 'ca.crt') };
  const scope = { OS_PROJECT_NAME: 'web', OS_PROJECT_DOMAIN_NAME: 'acme' };
  // Not synchronous: the servers run in this process.
  const run = async (...words: readonly string[]) => {
    const options = { cwd: '/', env: { ...env, ...user, ...cloud, ...scope } };
    return (await promisify(execFile)(program, words, options)).stdout;
  };
  t.match(JSON.parse(await run('login', '--keystone')), { kind: 'ExecCredential', status: { token: /./ } });
  const setUp = ['--server', url, '--ca-file', join(files, 'ca.crt'), '--command', program];
  await run('kubeconfig', ...setUp, '--', '--keystone');
  t.match(await run('whoami'), /^User +acme:alice$/m);
});

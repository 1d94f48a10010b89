/** The demo as a user runs it: a command whose output is read, and a kubeconfig that is used. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { stepsOf } from '../../demo/tour-steps.ts';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { askOnce } from '../support/open-request.ts';
import { commandsRunBy, runShell } from '../support/page-commands.ts';
import type { Mode } from '../support/testbed.ts';

const READY = 'Ctrl-C ends it all';
const USERS: Readonly<Record<string, string>> = {
  'acme-alice': 'acme:alice',
  'acme-dave': 'acme:dave',
  'globex-bob': 'globex:bob',
  'acme-carol': 'oidc:carol@acme.example',
};
const [kubectl] = findKubectls().slice(-1);

function startDemo(test: Test, ...args: string[]) {
  const child = spawn(process.execPath, ['demo/main.ts', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const end = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  test.teardown(async () => {
    child.kill('SIGTERM');
    await end;
  });
  return {
    child,
    get output() {
      return output;
    },
    /** Resolves when the text has been printed. */
    async printed(text: string) {
      while (!output.includes(text)) {
        await Promise.race([once(child.stdout, 'data'), end]);
        if (child.exitCode !== null && !output.includes(text)) throw new Error(`the demo ended: ${output}`);
      }
    },
    /** Resolves with the exit code. */
    async ended() {
      await end;
      return child.exitCode;
    },
  };
}

/** The process id of Stonegate, from its log. */
function stonegatePid(folder: string) {
  const [line = ''] = readFileSync(join(folder, 'stonegate.log'), 'utf8').split('\n');
  const { pid }: { pid: number } = JSON.parse(line);
  return pid;
}

async function listens(port: string) {
  const socket = connect(Number(port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The ports of all addresses in the output, except the one that only a port-forward would open. */
function portsIn(output: string) {
  const found = [...output.matchAll(/https?:\/\/127\.0\.0\.1:(\d+)/g)].map(([, port]) => port ?? '');
  return [...new Set(found)].filter((port) => port !== '8080');
}

const TOLD: Readonly<Record<Mode, readonly string[]>> = {
  shared: [
    '< 200 acme/web, acme/worker\n',
    'API server saw GET /api/v1/namespaces/globex/pods as globex:bob\n',
    'API server saw GET /api/v1/namespaces/globex/configmaps/settings as acme:alice\n',
  ],
  arktos: [
    '< 200 acme/web, acme/worker\n',
    'API server saw GET /api/v1/tenants/globex/namespaces/default/pods as globex:bob\n',
  ],
};

for (const [mode, words] of [
  ['shared', []],
  ['arktos', ['--arktos']],
] satisfies [Mode, string[]][])
  t.test(`${mode}: the tour completes every step and exits with 0`, async (t) => {
    const demo = startDemo(t, ...words, '--tour', '--folder', t.testdir());
    t.equal(await demo.ended(), 0, demo.output);
    for (const [index, { title }] of stepsOf(mode).entries())
      t.match(demo.output, `${index + 1}. ${title}\n`);
    for (const telling of TOLD[mode]) t.match(demo.output, telling);
    for (const telling of [
      '< 403 Forbidden: ',
      'acme-alice < "name":"news", on the watch',
      'All of it was right.',
    ])
      t.match(demo.output, telling);
  });

t.test('the demo is ready for each of its users', async (t) => {
  const folder = t.testdir();
  const demo = startDemo(t, '--folder', folder);
  await demo.printed(READY);
  t.test('with kubectl', { skip: kubectl === undefined && NO_KUBECTL }, async (t) => {
    const base = ['--kubeconfig', join(folder, 'kubeconfig'), '--cache-dir', join(folder, 'cache')];
    const run = async (context: string, ...words: string[]) =>
      (await promisify(execFile)(kubectl ?? '', [...base, '--context', context, ...words])).stdout;
    for (const [context, user] of Object.entries(USERS))
      t.equal(await run(context, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'), user);
    t.match(await run('acme-alice', 'version'), 'Server Version: v1.36.0');
    await eventually(async () => /pods: 4\/4/.test(await run('acme-alice', 'get', 'tenantquota')));
    const beyond = run('acme-alice', 'run', 'more', '--image', 'nginx');
    await t.rejects(beyond, { message: /exceeded quota: acme/ });
  });

  t.test('with a browser, at the portal whose address it prints', async (t) => {
    const [, port = ''] = /https:\/\/localhost:(\d+)\/access/.exec(demo.output) ?? [];
    const ca = readFileSync(join(folder, 'ca.crt'), 'utf8');
    const headers = { host: `localhost:${port}` };
    const reply = await askOnce({ port: Number(port), ca }, undefined, '/login', { headers });
    t.match(reply, { status: 200, body: /type="password"/ });
  });

  t.test('with the commands of Stonegate that it prints', async (t) => {
    const [, words = ''] = /explain (.*)$/m.exec(demo.output) ?? [];
    const kubeconfig = ['--kubeconfig', join(folder, 'kubeconfig')];
    const run = async (...words: string[]) =>
      (await promisify(execFile)(process.execPath, ['src/main.ts', ...words])).stdout;
    t.match(
      await run('explain', ...words.split(' ')),
      /accessReview +REFUSED.*RoleBinding readers grants `get,list,watch pods`, not `delete`/,
    );
    t.match(await run('access', '--context', 'acme-dave', ...kubeconfig), /^shop,staging +configmaps /m);
  });

  t.test('with the commands of README.md', { skip: kubectl === undefined && NO_KUBECTL }, async (t) => {
    const [commands = ''] = commandsRunBy('test/e2e/demo.test.ts', 'README.md');
    const env = { PATH: process.env.PATH ?? '', HOME: t.testdir({}), NODE_NO_WARNINGS: '1' };
    const script = commands.replaceAll('.demo/', `${folder}/`);
    const { output, code } = await runShell({ folder: process.cwd(), env }, script);
    t.equal(code, 0, output);
    t.match(output, /^shop +Active/m);
    t.match(output, /^staging +till .*1\/1/m);
    t.match(output, /^accessReview +REFUSED/m);
  });

  t.test('a second demo in the same folder is refused', async (t) => {
    const second = startDemo(t, '--folder', folder);
    t.equal(await second.ended(), 1);
    t.match(second.output, `a demo runs in ${folder} already, as process ${demo.child.pid}`);
  });

  t.test('Ctrl-C ends it, even when pressed twice, and leaves nothing running', async (t) => {
    const ports = portsIn(demo.output);
    const pid = stonegatePid(folder);
    t.same(await Promise.all(ports.map(listens)), [true, true, true, true, true]);
    demo.child.kill('SIGINT');
    demo.child.kill('SIGINT');
    t.equal(await demo.ended(), 0, demo.output);
    t.same(await Promise.all(ports.map(listens)), [false, false, false, false, false]);
    t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    t.notOk(existsSync(join(folder, 'pid')));
  });
});

t.test('Ctrl-C ends the demo although its folder was removed', async (t) => {
  const folder = t.testdir();
  const demo = startDemo(t, '--folder', folder);
  await demo.printed(READY);
  rmSync(folder, { recursive: true });
  demo.child.kill('SIGINT');
  t.equal(await demo.ended(), 0, demo.output);
});

t.test('the demo reports that Stonegate has died, and exits with 1', async (t) => {
  const folder = t.testdir();
  const demo = startDemo(t, '--folder', folder);
  await demo.printed(READY);
  process.kill(stonegatePid(folder), 'SIGKILL');
  t.equal(await demo.ended(), 1);
  t.match(demo.output, 'Stonegate has ended (SIGKILL). The last lines of ');
  t.match(demo.output, '"level":"info"');
});

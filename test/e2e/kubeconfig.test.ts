/**
 * `stonegate kubeconfig` as users run it: what it writes is what kubectl, whoami and explain then work with.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { kubeconfig } from '../../src/cli/kubeconfig.ts';
import { whoami } from '../../src/cli/whoami.ts';
import { SELF_IDENTITY_PATH } from '../../src/features/explain/stonegate-v1alpha1.ts';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { startStonegate } from '../support/stonegate.ts';

const [KUBECTL] = findKubectls();
const folder = t.testdir();
const stonegate = await startStonegate({ folder: join(folder, 'stonegate') });
t.teardown(() => stonegate.close());
const { keystone, url, authority } = stonegate;
const { directory } = keystone;
const alice = directory.user('acme', 'alice');
directory.assign(alice, 'reader', { project: directory.project('acme', 'Data Base') });

const CA = join(folder, 'stonegate', 'ca.crt');
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const COMMAND = join(folder, 'stonegate.sh');
writeFileSync(
  COMMAND,
  `#!/bin/sh\nOS_PASSWORD=alice-pass NODE_NO_WARNINGS=1 exec '${process.execPath}' '${MAIN}' "$@"\n`,
  { mode: 0o755 },
);
const LOGIN = [
  ...['--', '--keystone', '--os-auth-url', keystone.url, '--os-cacert', CA],
  ...['--os-username', 'alice', '--os-user-domain-name', 'acme', '--cache-dir', join(folder, 'cache')],
];

function capture() {
  const printed = { stdout: '', stderr: '' };
  return {
    printed,
    stdout: (text: string) => {
      printed.stdout += text;
    },
    stderr: (text: string) => {
      printed.stderr += text;
    },
  };
}

async function configure(file: string, ...words: string[]) {
  const io = capture();
  const server = ['--server', url, '--ca-file', CA, '--name', 'demo', '--command', COMMAND];
  const code = await kubeconfig([...server, '--kubeconfig', file, ...words, ...LOGIN], io, {
    env: {},
    folder,
  });
  return { code, ...io.printed };
}

t.test(
  'one context for each project, of which kubectl uses any',
  { skip: KUBECTL === undefined && NO_KUBECTL },
  async (t) => {
    const file = join(folder, 'all');
    t.match(await configure(file, '--projects', 'all'), {
      code: 0,
      stdout: /contexts (demo-data-base, demo-web|demo-web, demo-data-base)\n/,
    });
    const kubectl = createKubectl(KUBECTL ?? '', { server: url, ca: authority.cert, token: 'unused' });
    t.teardown(() => kubectl.close());
    const run = (...words: string[]) => kubectl.run(['--kubeconfig', file, ...words]);
    for (const [context, project, role] of [
      ['demo-web', 'web', 'member'],
      ['demo-data-base', 'Data Base', 'reader'],
    ] as const) {
      const { stdout, stderr, code } = await run('--context', context, 'get', '--raw', SELF_IDENTITY_PATH);
      t.equal(code, 0, stderr);
      t.match(JSON.parse(stdout), { status: { scope: { name: project }, roles: [role] } });
    }
    t.match((await run('--context', 'demo-web', 'get', 'pods')).stdout, /^web\s/m);
    await run('config', 'set-context', 'demo-web', '--namespace', 'other');
    const again = await configure(file, '--projects', 'web');
    t.equal(again.code, 0, 'what kubectl rewrote is still known as ours');
  },
);

t.test('some projects, by name or id', async (t) => {
  const { id } = directory.project('acme', 'Data Base');
  t.match(await configure(join(folder, 'some'), '--projects', `web,${id}`), {
    code: 0,
    stdout: /contexts demo-web, demo-data-base\n/,
  });
});

t.test('a project that is named more than once, by its name and its id, gets one context', async (t) => {
  const { id } = directory.project('acme', 'web');
  t.match(await configure(join(folder, 'twice'), '--projects', `web,web,${id}`), {
    code: 0,
    stdout: /: context demo-web\n/,
  });
});

t.test('the name stays as it is given before that of the project', async (t) => {
  t.match(await configure(join(folder, 'named'), '--name', 'Work', '--projects', 'Data Base'), {
    code: 0,
    stdout: /: context Work-data-base\n/,
  });
});

t.test('a name that two projects share wants the id', async (t) => {
  const twin = directory.project('globex', 'web');
  directory.assign(alice, 'member', { project: twin });
  const [name, id] = [join(folder, 'twin-name'), join(folder, 'twin-id')];
  t.match(await configure(name, '--projects', 'web'), {
    code: 1,
    stderr: /several projects are called "web"/,
  });
  t.match(await configure(id, '--projects', 'all'), { code: 0, stdout: /demo-web-[0-9a-f]{32}/ });
  directory.unassign(alice, 'member', { project: twin });
});

t.test('an unknown project is refused with the list of the user’s projects', async (t) => {
  t.match(await configure(join(folder, 'none'), '--projects', 'attic'), {
    code: 1,
    stdout: '',
    stderr: /you have no project "attic"; there are: .*web/,
  });
});

t.test('a login that is refused writes nothing', async (t) => {
  const io = capture();
  const server = ['--server', url, '--command', COMMAND, '--kubeconfig', join(folder, 'refused')];
  const login = [
    '--',
    '--keystone',
    '--os-auth-url',
    keystone.url,
    '--os-cacert',
    CA,
    '--os-username',
    'unknown',
  ];
  const parts = { env: {}, folder };
  const words = [...server, '--projects', 'all', ...login, '--cache-dir', join(folder, 'cache')];
  t.equal(await kubeconfig(words, io, parts), 1);
  t.match(io.printed.stderr, /ended with 1/);
});

t.test('whoami logs in as the context says', async (t) => {
  const file = join(folder, 'whoami');
  await configure(file, '--projects', 'web');
  const io = capture();
  const env = { KUBECONFIG: file };
  t.equal(await whoami([], io, env), 0, io.printed.stderr);
  t.match(io.printed.stdout, /^User +acme:alice$/m);
  t.match(io.printed.stdout, /^Scope +project web \(/m);
  t.match(io.printed.stdout, /^Roles +member$/m);
});

/** `stonegate kubeconfig` as users run it, and kubectl with the file that it writes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parse } from 'yaml';
import { kubeconfig } from '../../src/cli/kubeconfig.ts';
import { SELF_IDENTITY_PATH } from '../../src/features/explain/stonegate-v1alpha1.ts';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { printedBy } from '../support/printed-io.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { startStonegate } from '../support/stonegate.ts';

const [KUBECTL] = findKubectls();
const folder = t.testdir();
const stonegate = await startStonegate(t, { folder: join(folder, 'stonegate') });
const { keystone, url, authority, app } = stonegate;
const { directory } = keystone;
for (const role of ['admin', 'member', 'reader']) directory.role(role);
await admitProvisioner(stonegate, { mode: 'arktos', bindings: { provision: 'onRequest' } });
await app.reload();
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

const configure = (file: string, ...words: string[]) => run(file, words, LOGIN);
/** Runs the command with a login for one project, as a cloud of clouds.yaml can have it. */
const configureFor = (file: string, id: string) =>
  run(file, ['--projects', 'all'], [...LOGIN, '--os-project-id', id]);

async function run(file: string, words: readonly string[], login: readonly string[]) {
  const server = ['--server', url, '--ca-file', CA, '--name', 'demo', '--command', COMMAND];
  return printedBy(kubeconfig, [...server, '--kubeconfig', file, ...words, ...login], { env: {}, folder });
}

t.test(
  'there is one context for each project, and kubectl can use each',
  { skip: KUBECTL === undefined && NO_KUBECTL },
  async (t) => {
    const file = join(folder, 'all');
    t.match(await configure(file, '--projects', 'all'), {
      code: 0,
      stdout: /contexts (demo-data-base, demo-web|demo-web, demo-data-base)\n/,
    });
    const kubectl = createKubectl(t, KUBECTL ?? '', { server: url, ca: authority.cert, token: 'unused' });
    const runKubectl = (...words: string[]) => kubectl.run(['--kubeconfig', file, ...words]);
    for (const [context, project, role] of [
      ['demo-web', 'web', 'member'],
      ['demo-data-base', 'Data Base', 'reader'],
    ] as const) {
      const { stdout, stderr, code } = await runKubectl(
        '--context',
        context,
        'get',
        '--raw',
        SELF_IDENTITY_PATH,
      );
      t.equal(code, 0, stderr);
      t.match(JSON.parse(stdout), { status: { scope: { name: project }, roles: [role] } });
    }
    const { id } = directory.project('acme', 'web');
    t.match(await runKubectl('get', 'pods'), { code: 0, stderr: `No resources found in ${id} namespace.` });
    t.match((await runKubectl('--context', 'demo-web', '-n', 'default', 'get', 'pods')).stdout, /^web\s/m);
    await runKubectl('config', 'set-context', 'demo-web', '--namespace', 'other');
    const again = await configure(file, '--projects', 'web');
    t.equal(again.code, 0, 'a file that kubectl has rewritten can still be updated');
  },
);

t.test('the context of the login’s project comes first', async (t) => {
  for (const name of ['web', 'Data Base']) {
    const { id } = directory.project('acme', name);
    const file = join(folder, `first-${id}`);
    const { code, stderr } = await configureFor(file, id);
    t.match({ code, stderr }, { code: 0, stderr: '' });
    const { contexts, 'current-context': current } = parse(readFileSync(file, 'utf8'));
    t.match(contexts, [{ name: current, context: { namespace: id } }, { context: { namespace: /^.{32}$/ } }]);
  }
});

t.test('a single context has the namespace of its project, or the one that the user names', async (t) => {
  const { id } = directory.project('acme', 'web');
  for (const [words, namespace] of [
    [[], id],
    [['--namespace', 'other'], 'other'],
  ] as const) {
    const file = join(folder, `single-${namespace}`);
    t.match(await run(file, words, [...LOGIN, '--os-project-id', id]), { code: 0, stderr: '' });
    t.match(parse(readFileSync(file, 'utf8')).contexts, [{ name: 'demo', context: { namespace } }]);
  }
});

t.test('a user whose login is for no project is told how to get contexts with a namespace', async (t) =>
  t.match(await configure(join(folder, 'unscoped')), {
    code: 0,
    stderr: /no namespace is set: the login is for no project/,
  }),
);

t.test('projects that share a name must be given by id', async (t) => {
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

t.test('an unknown project is refused with the list of the user’s projects', async (t) =>
  t.match(await configure(join(folder, 'none'), '--projects', 'attic'), {
    code: 1,
    stdout: '',
    stderr: /you have no project "attic"; there are: .*web/,
  }),
);

t.test('a refused login writes nothing', async (t) => {
  const file = join(folder, 'refused');
  const login = LOGIN.map((word) => (word === 'alice' ? 'unknown' : word));
  t.match(await run(file, ['--projects', 'all'], login), { code: 1, stderr: /sign-in failed/ });
  t.notOk(existsSync(file));
});

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { kubeconfig } from '../../../src/cli/kubeconfig.ts';
import { printedIO } from '../../support/printed-io.ts';
import { eachRow } from '../../support/rows.ts';
import { MAIN } from '../../support/stonegate-process.ts';
import { createAuthority } from '../../support/tls/authority.ts';

const CA = (await createAuthority()).cert;
const SERVER = ['--server', 'https://stonegate.example:8443'];
const LOGIN = ['--', '--oidc', '--issuer-url', 'https://login.example', '--client-id', 'kubectl'];

const THEIRS = `# my clusters
apiVersion: v1
kind: Config
current-context: old # the first one
clusters:
  - name: old # keep me
    cluster:
      server: https://old.example
contexts:
  - name: old
    context: { cluster: old, user: old, x-unknown: 1 }
users:
  - name: old
    user: { token: old-token }
preferences: {}
`;

const textIn = (folder: string, name = 'config') => readFileSync(join(folder, name), 'utf8');
const contentIn = (folder: string) => parse(textIn(folder));
/** `stonegate kubeconfig` for the file `config` of the folder. */
const change = (folder: string, ...words: string[]) =>
  run(folder, [...SERVER, '--kubeconfig', join(folder, 'config'), ...words, ...LOGIN]);

async function run(folder: string, argv: readonly string[], env: Record<string, string> = {}) {
  const { io, printed } = printedIO();
  const code = await kubeconfig(argv, io, { env: { HOME: folder, ...env }, folder });
  return { code, ...printed };
}

t.test('a new file is readable only by its owner and contains no secret', async (t) => {
  const folder = t.testdir({ 'ca.crt': CA });
  const { code, stdout, stderr } = await run(folder, [...SERVER, '--ca-file', 'ca.crt', ...LOGIN]);
  const file = join(folder, '.kube', 'config');
  t.match(
    { code, stderr },
    { code: 0, stderr: /^stonegate kubeconfig: stonegate is not on the PATH, .*\n$/ },
  );
  t.equal(stdout, `${file}: context stonegate-example\n`);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.equal(statSync(join(folder, '.kube')).mode & 0o777, 0o700);
  t.same(readdirSync(join(folder, '.kube')), ['config'], 'neither a lock nor a partial file is left');
  t.match(parse(readFileSync(file, 'utf8')), {
    clusters: [{ cluster: { 'certificate-authority-data': Buffer.from(CA).toString('base64') } }],
    users: [{ user: { exec: { args: ['login', ...LOGIN.slice(1)] } } }],
    'current-context': 'stonegate-example',
  });
});

t.test(
  'everything else in the file is unchanged, comments included; --use switches to the new context',
  async (t) => {
    const folder = t.testdir({ config: THEIRS });
    const file = join(folder, 'config');
    chmodSync(file, 0o644);
    t.equal((await change(folder, '--name', 'New')).code, 0);
    const text = readFileSync(file, 'utf8');
    for (const line of ['# my clusters', '# keep me', '# the first one', 'x-unknown: 1', 'preferences: {}'])
      t.ok(text.includes(line), line);
    const { 'current-context': current, contexts, users } = parse(text);
    t.equal(current, 'old', 'the current context changes only with --use');
    t.match(contexts, [{ name: 'old' }, { name: 'New' }]);
    t.match(users[0], { user: { token: 'old-token' } });
    t.equal(statSync(file).mode & 0o777, 0o600);
    await change(folder, '--name', 'New', '--use');
    t.equal(contentIn(folder)['current-context'], 'New');
  },
);

t.test('--tenant adds the prefix of the tenant to the address, and its name to the context', async (t) => {
  const folder = t.testdir();
  t.match(await change(folder, '--tenant', 'globex'), {
    code: 0,
    stdout: /context stonegate-example-globex/,
  });
  const server = 'https://stonegate.example:8443/tenants/globex';
  t.match(contentIn(folder), { clusters: [{ name: 'stonegate-example-globex', cluster: { server } }] });
});

t.test('JSON, and lists that kubectl wrote as null, are accepted', async (t) => {
  for (const config of ['{"kind":"Config","clusters":null,"users":[]}', '']) {
    const folder = t.testdir({ config });
    t.equal((await change(folder)).code, 0, config);
    t.match(contentIn(folder), { clusters: [{}], users: [{}], contexts: [{}] });
  }
});

t.test('running the command again with other options replaces the entries that it made', async (t) => {
  const folder = t.testdir();
  const file = join(folder, 'config');
  const words = [...SERVER, '--kubeconfig', file];
  await run(folder, [...words, ...LOGIN]);
  const { code } = await run(folder, [...words, '--namespace', 'web', '--', '--keystone', '--os-cloud', 'x']);
  t.equal(code, 0);
  const { users, contexts, clusters } = parse(readFileSync(file, 'utf8'));
  t.same([users.length, contexts.length, clusters.length], [1, 1, 1]);
  t.same(users[0].user.exec.args, ['login', '--keystone', '--os-cloud', 'x']);
  t.equal(contexts[0].context.namespace, 'web');
});

t.test('a context that Stonegate did not create is replaced only with --force', async (t) => {
  const folder = t.testdir({ config: THEIRS });
  for (const words of [[], ['--print']])
    t.match(await change(folder, '--name', 'old', ...words), {
      code: 1,
      stdout: '',
      stderr: /the cluster "old" in .* is not of stonegate kubeconfig: .*--name.*--force/,
    });
  t.equal(textIn(folder), THEIRS);
  t.equal((await change(folder, '--name', 'old', '--force')).code, 0);
  t.notMatch(textIn(folder), /old-token/);
});

t.test('if KUBECONFIG names several files, the first that exists is changed', async (t) => {
  const folder = t.testdir({ b: THEIRS, c: '' });
  const env = { KUBECONFIG: ['a', 'b', 'c'].map((name) => join(folder, name)).join(delimiter) };
  t.equal((await run(folder, [...SERVER, '--name', 'new', ...LOGIN], env)).code, 0);
  t.notOk(existsSync(join(folder, 'a')));
  t.match(textIn(folder, 'b'), /name: new/);
});

t.test(
  'a symbolic link stays a link, and a file that is locked under either name is not changed',
  async (t) => {
    const folder = t.testdir({ real: THEIRS });
    const link = join(folder, 'config');
    symlinkSync(join(folder, 'real'), link);
    for (const name of ['config.lock', 'real.lock']) {
      writeFileSync(join(folder, name), '');
      t.match(await change(folder), { code: 1, stderr: /\.lock exists/ });
      t.equal(readFileSync(link, 'utf8'), THEIRS);
      t.same(
        readdirSync(folder).sort(),
        ['config', 'real', name].sort(),
        'the lock of the other process is not removed',
      );
      unlinkSync(join(folder, name));
    }
    await change(folder, '--name', 'new');
    t.ok(lstatSync(link).isSymbolicLink());
    t.match(textIn(folder, 'real'), /name: new/);
  },
);

for (const [what, config] of [
  ['not YAML', 'a: [\n'],
  ['a kubeconfig whose users are not a list', 'users: 3\n'],
] as const)
  t.test(`a file that is ${what} is not changed`, async (t) => {
    const folder = t.testdir({ config });
    const file = join(folder, 'config');
    const { code, stderr } = await change(folder);
    t.equal(code, 1);
    t.match(stderr, file);
    t.equal(readFileSync(file, 'utf8'), config);
    t.same(readdirSync(folder), ['config']);
  });

t.test('--print shows the entries that would be written, and writes nothing', async (t) => {
  for (const [config, current] of [
    [THEIRS, undefined],
    ['', 'stonegate-example'],
  ] as const) {
    const folder = t.testdir({ config });
    const file = join(folder, 'config');
    const argv = [...SERVER, '--kubeconfig', file];
    const { code, stdout } = await run(folder, [...argv, '--print', ...LOGIN]);
    t.equal(code, 0);
    t.equal(readFileSync(file, 'utf8'), config);
    const shown = parse(stdout);
    t.equal(shown['current-context'], current, 'the current context is shown only if it would change');
    t.notMatch(stdout, 'old-token', 'secrets of other entries are not shown');
    await run(folder, [...argv, ...LOGIN]);
    const written = parse(readFileSync(file, 'utf8'));
    for (const list of ['clusters', 'users', 'contexts']) t.same(written[list].slice(-1), shown[list]);
  }
});

t.test(
  'paths of the login command are absolute, so that kubectl finds the files from any folder',
  async (t) => {
    const folder = t.testdir();
    const words = ['--keystone', '--os-cacert', 'ks.crt', '--cache-dir=~/cache', '--os-username', 'alice'];
    const { stdout } = await run(folder, [...SERVER, '--print', '--command', './sg', '--', ...words]);
    t.match(parse(stdout).users[0].user.exec, {
      command: join(folder, 'sg'),
      args: [
        ...['login', '--keystone', '--os-cacert', join(folder, 'ks.crt')],
        ...['--cache-dir=~/cache', '--os-username', 'alice'],
      ],
    });
  },
);

t.test('an authority in the login command may be a data: URL, as in kubeconfigs of the portal', async (t) => {
  const trust = `--os-cacert=data:;base64,${Buffer.from(CA).toString('base64')}`;
  const login = ['--', '--keystone', trust, '--os-username', 'alice'];
  const { stdout } = await run(t.testdir(), [...SERVER, '--print', ...login]);
  t.match(parse(stdout).users[0].user.exec, { args: ['login', ...login.slice(1)] });
});

t.test('a CA file without a certificate is refused', async (t) => {
  for (const [content, message] of [
    [undefined, /--ca-file: no such file: ca\.crt/],
    ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', /holds no certificate/],
  ] as const) {
    const folder = t.testdir(content === undefined ? {} : { 'ca.crt': content });
    t.match(await change(folder, '--ca-file', 'ca.crt'), { code: 1, stderr: message });
    t.notOk(existsSync(join(folder, 'config')));
  }
});

const AT = '--server https://stonegate.example:8443';
const OIDC = LOGIN.join(' ');

await eachRow(
  `
  ${OIDC} | --server URL is required
  --server https://me@s ${OIDC} | --server must be an https address without user
  --server http://s/foo ${OIDC} | --server must be an https address without user
  --server https://s/foo ${OIDC} | --server must be an https address without user
  ${AT} --namespace Sh.op ${OIDC} | --namespace: "
  ${AT} --tenant globex/api ${OIDC} | --tenant: "
  ${AT} --ca-fingerprint ab:cd ${OIDC} | --ca-fingerprint must be the SHA-256
  ${AT} --ca-file x --ca-fingerprint ${'a'.repeat(64)} | use one of them
  ${AT} --keystone --os-cloud acme | Unknown option '--keystone'
  ${AT} --name p_2 ${OIDC} | --name must be of letters, digits and dashes
  ${AT} --projects , -- --keystone | --projects must be "all", or names or ids
  ${AT} --projects all ${OIDC} | --projects is for -- --keystone
  ${AT} -- --keystone --os-password hush | --os-password is not accepted
  ${AT} --projects all -- --keystone --os-auth-url https://keystone --os-application-credential-id x | its own project alone`,
  (line, message) =>
    t.test(`${line} is a usage error`, async (t) => {
      const { code, stderr, stdout } = await run(t.testdir(), line.split(' '));
      t.match({ code, stdout }, { code: 2, stdout: '' });
      t.ok(stderr.includes(message), stderr);
      t.notMatch(stderr, 'hush');
      t.match(stderr, /See: stonegate kubeconfig --help/);
    }),
);

t.test('a login command with invalid options does not overwrite one that works', async (t) => {
  const folder = t.testdir();
  await change(folder);
  const before = contentIn(folder);
  await eachRow(
    `
    --keystone --os-clod acme | the login behind "--": Unknown option '--os-clod'
    --keystone -- | unexpected argument "--"
    --keystone --os-auth-type v3totp | second factors
    --oidc --client-id x | --issuer-url is required`,
    async (login, stderr) => {
      const argv = [...SERVER, '--kubeconfig', join(folder, 'config'), '--force', '--', ...login.split(' ')];
      t.match(await run(folder, argv), { code: 2, stdout: '', stderr });
    },
  );
  t.same(contentIn(folder), before);
});

t.test('settings that the machine of the user may supply are not required', async (t) => {
  const folder = t.testdir();
  t.match(await run(folder, [...SERVER, '--', '--keystone']), {
    code: 0,
    stderr: /no namespace is set: which Keystone\?.*Set it with --namespace NAME/,
  });
  const { contexts } = parse(readFileSync(join(folder, '.kube', 'config'), 'utf8'));
  t.notOk('namespace' in contexts[0].context, 'the namespace is not guessed');
});

const withCloud = (...more: string[]) => [
  ...[...SERVER, '--namespace', 'web', ...more],
  ...['--', '--keystone', '--os-cloud', 'acme'],
];
const CLOUDS = { '.config': { openstack: { 'clouds.yaml': 'clouds: { globex: {}, initech: {} }' } } };

t.test(
  'a cloud that clouds.yaml does not contain is refused, and the error lists those it contains',
  async (t) => {
    const folder = t.testdir(CLOUDS);
    const { code, stderr } = await run(folder, withCloud());
    t.equal(code, 1);
    t.match(stderr, /no cloud "acme" in .*clouds\.yaml; there is globex, initech\./);
    t.notOk(existsSync(join(folder, '.kube')), 'nothing is written');
    t.equal(
      (await run(folder, withCloud('--force'))).code,
      0,
      '--force writes it, for use on another machine',
    );
  },
);

t.test('without any clouds.yaml a note says that the cloud is not checked', async (t) => {
  const folder = t.testdir({ 'clouds.yaml': 'clouds: { acme: {} }' });
  t.match(
    await run(folder, withCloud()),
    { code: 0, stderr: /"acme" is not checked: no clouds\.yaml \(looked in / },
    'the working folder is not searched, since kubectl does not search it either',
  );
});

t.test(
  'names that YAML 1.1 reads as other types stay strings, and existing entries are not rewritten',
  async (t) => {
    const theirs = 'clusters:\n  - name: old\n    cluster: { insecure-skip-tls-verify: yes }\n';
    for (const word of ['no', '1e3']) {
      const folder = t.testdir({ config: theirs });
      t.equal((await change(folder, '--name', 'on', '--namespace', word)).code, 0);
      const text = textIn(folder);
      t.match(parse(text, { version: '1.1' }), {
        'current-context': 'on',
        clusters: [{ cluster: { 'insecure-skip-tls-verify': true } }, { name: 'on' }],
        contexts: [{ name: 'on', context: { cluster: 'on', user: 'on', namespace: word } }],
      });
      t.match(text, 'insecure-skip-tls-verify: yes }');
    }
  },
);

t.test('a disk that is full, and a folder that is none, cost nothing of the file', async (t) => {
  const folder = t.testdir({ config: THEIRS, file: '' });
  const file = join(folder, 'config');
  chmodSync(file, 0o600);
  const words = [process.execPath, MAIN, 'kubeconfig', ...SERVER, '--kubeconfig', file, ...LOGIN];
  // A shell's limit on the size of files has the effect of a full disk.
  const full = spawnSync('sh', ['-c', 'ulimit -f 0; exec "$@"', 'sh', ...words], { encoding: 'utf8' });
  t.match(full, { status: 1, stdout: '', stderr: /^stonegate kubeconfig: .*EFBIG/m });
  t.match(await change(folder, '--kubeconfig', join(folder, 'file', 'config')), { code: 1, stdout: '' });
  t.equal(readFileSync(file, 'utf8'), THEIRS);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.same(readdirSync(folder).sort(), ['config', 'file'], 'neither a lock nor a partial file is left');
});

t.test('a file of the user that is no access token is not overwritten by one', async (t) => {
  const folder = t.testdir({ notes: 'of value\n' });
  const words = ['--token-scope', 'read', '--token-expires', '1h', '--token-file', 'notes'];
  t.match(await change(folder, ...words), { code: 1, stderr: /notes is there and contains no access token/ });
  t.equal(textIn(folder, 'notes'), 'of value\n');
  t.notOk(existsSync(join(folder, 'config')));
});

t.test('no token is created if its file cannot be', async (t) => {
  const words = ['--token-scope', 'read', '--token-expires', '1h', '--token-file', '/proc/token'];
  const { code, stderr } = await change(t.testdir(), ...words);
  t.equal(code, 1);
  t.match(stderr, "open '/proc/", 'there was no login yet');
});

t.test(
  '--token-scope excludes --print and --projects, and --token-expires requires --token-scope',
  async (t) => {
    const folder = t.testdir();
    const scope = ['--token-scope', 'read'];
    for (const words of [
      [...scope, '--print'],
      [...scope, '--projects', 'all'],
      ['--token-expires', '1h'],
      ['--token-file', 'token'],
    ])
      t.match(await change(folder, ...words), { code: 2, stdout: '', stderr: /--token-scope/ });
    t.notOk(existsSync(join(folder, 'config')));
  },
);

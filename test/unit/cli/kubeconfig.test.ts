import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { kubeconfig } from '../../../src/cli/kubeconfig.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { printedIO } from '../../support/printed-io.ts';
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

async function run(folder: string, argv: readonly string[], env: Record<string, string> = {}) {
  const { io, printed } = printedIO();
  const code = await kubeconfig(argv, io, { env: { HOME: folder, ...env }, folder, random: systemRandom });
  return { code, ...printed };
}

t.test('into a new file: readable by its owner alone, with nothing secret in it', async (t) => {
  const folder = t.testdir({ 'ca.crt': CA });
  const { code, stdout, stderr } = await run(folder, [...SERVER, '--ca-file', 'ca.crt', ...LOGIN]);
  const file = join(folder, '.kube', 'config');
  t.strictSame({ code, stderr }, { code: 0, stderr: '' });
  t.equal(stdout, `${file}: context stonegate-example\n`);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.equal(statSync(join(folder, '.kube')).mode & 0o777, 0o700);
  t.same(readdirSync(join(folder, '.kube')), ['config'], 'neither lock nor half a file is left');
  t.match(parse(readFileSync(file, 'utf8')), {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'stonegate-example',
        cluster: {
          server: 'https://stonegate.example:8443',
          'certificate-authority-data': Buffer.from(CA).toString('base64'),
        },
      },
    ],
    users: [
      {
        name: 'stonegate-example',
        user: {
          exec: {
            apiVersion: 'client.authentication.k8s.io/v1',
            command: 'stonegate',
            args: ['login', ...LOGIN.slice(1)],
            interactiveMode: 'IfAvailable',
          },
        },
      },
    ],
    contexts: [
      { name: 'stonegate-example', context: { cluster: 'stonegate-example', user: 'stonegate-example' } },
    ],
    'current-context': 'stonegate-example',
  });
});

t.test('everything else in the file stays, comments too', async (t) => {
  const folder = t.testdir({ config: THEIRS });
  const file = join(folder, 'config');
  chmodSync(file, 0o644);
  t.equal((await run(folder, [...SERVER, '--name', 'New', '--kubeconfig', file, ...LOGIN])).code, 0);
  const text = readFileSync(file, 'utf8');
  for (const line of ['# my clusters', '# keep me', '# the first one', 'x-unknown: 1', 'preferences: {}'])
    t.ok(text.includes(line), line);
  const { 'current-context': current, contexts, users } = parse(text);
  t.equal(current, 'old', 'the current context is not switched unasked');
  t.match(contexts, [{ name: 'old' }, { name: 'New' }]);
  t.match(users[0], { user: { token: 'old-token' } });
  t.equal(statSync(file).mode & 0o777, 0o600);
});

t.test(
  '--tenant names another tenant: its prefix is in the address, and its name in the context',
  async (t) => {
    const folder = t.testdir();
    const { code, stdout } = await run(folder, [...SERVER, '--tenant', 'globex', ...LOGIN]);
    t.equal(code, 0);
    t.match(stdout, 'context stonegate-example-globex');
    t.match(parse(readFileSync(join(folder, '.kube', 'config'), 'utf8')), {
      clusters: [
        {
          name: 'stonegate-example-globex',
          cluster: { server: 'https://stonegate.example:8443/tenants/globex' },
        },
      ],
    });
  },
);

t.test('--tenant wants what can be the name of a tenant', async (t) => {
  for (const tenant of ['', '*', 'Globex', 'globex/api', '../x', 'a'.repeat(64)]) {
    const { code, stderr } = await run(t.testdir(), [...SERVER, '--tenant', tenant, ...LOGIN]);
    t.equal(code, 2, tenant);
    t.match(stderr, '--tenant');
  }
});

t.test('--use switches to it', async (t) => {
  const folder = t.testdir({ config: THEIRS });
  const file = join(folder, 'config');
  await run(folder, [...SERVER, '--name', 'new', '--use', '--kubeconfig', file, ...LOGIN]);
  t.equal(parse(readFileSync(file, 'utf8'))['current-context'], 'new');
});

t.test('JSON, and lists that kubectl wrote as null, are kubeconfigs too', async (t) => {
  for (const config of ['{"kind":"Config","clusters":null,"users":[]}', 'contexts: null\n', '']) {
    const folder = t.testdir({ config });
    const file = join(folder, 'config');
    t.equal((await run(folder, [...SERVER, '--kubeconfig', file, ...LOGIN])).code, 0, config);
    t.match(parse(readFileSync(file, 'utf8')), { clusters: [{}], users: [{}], contexts: [{}] });
  }
});

t.test('once more with other words replaces what is ours', async (t) => {
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

t.test('a context that Stonegate did not create is not replaced, unless with --force', async (t) => {
  const folder = t.testdir({ config: THEIRS });
  const file = join(folder, 'config');
  const words = [...SERVER, '--name', 'old', '--kubeconfig', file];
  const { code, stderr, stdout } = await run(folder, [...words, ...LOGIN]);
  t.match({ code, stdout }, { code: 1, stdout: '' });
  t.match(stderr, /the cluster "old" in .* is not of stonegate kubeconfig: .*--name.*--force/);
  t.equal(readFileSync(file, 'utf8'), THEIRS);
  t.equal((await run(folder, [...words, '--force', ...LOGIN])).code, 0);
  t.notMatch(readFileSync(file, 'utf8'), /old-token/);
});

t.test('of several files in KUBECONFIG the first that is there is changed', async (t) => {
  const folder = t.testdir({ b: THEIRS, c: THEIRS.replaceAll('old', 'other') });
  const env = { KUBECONFIG: ['a', 'b', 'c'].map((name) => join(folder, name)).join(delimiter) };
  t.equal((await run(folder, [...SERVER, '--name', 'new', ...LOGIN], env)).code, 0);
  t.notOk(existsSync(join(folder, 'a')));
  t.match(readFileSync(join(folder, 'b'), 'utf8'), /name: new/);
  const { code, stderr } = await run(folder, [...SERVER, '--name', 'other', ...LOGIN], env);
  t.equal(code, 1, 'it would hide the one of the other file');
  t.match(stderr, join(folder, 'c'));
});

t.test('of several files none of which is there the last is made', async (t) => {
  const folder = t.testdir();
  const env = { KUBECONFIG: ['a', 'b'].map((name) => join(folder, name)).join(delimiter) };
  await run(folder, [...SERVER, ...LOGIN], env);
  t.same(readdirSync(folder), ['b']);
});

t.test('a link stays a link', async (t) => {
  const folder = t.testdir({ real: THEIRS });
  const link = join(folder, 'link');
  symlinkSync(join(folder, 'real'), link);
  await run(folder, [...SERVER, '--name', 'new', '--kubeconfig', link, ...LOGIN]);
  t.ok(lstatSync(link).isSymbolicLink());
  t.match(readFileSync(join(folder, 'real'), 'utf8'), /name: new/);
});

t.test('while another process changes the file nothing is written', async (t) => {
  const folder = t.testdir({ config: THEIRS, 'config.lock': '' });
  const file = join(folder, 'config');
  const { code, stderr } = await run(folder, [...SERVER, '--kubeconfig', file, ...LOGIN]);
  t.equal(code, 1);
  t.match(stderr, /config\.lock exists/);
  t.equal(readFileSync(file, 'utf8'), THEIRS);
  t.ok(existsSync(`${file}.lock`), 'their lock stays theirs');
});

for (const [what, config] of [
  ['no YAML', 'a: [\n'],
  ['two documents', 'a: 1\n---\nb: 2\n'],
  ['no kubeconfig', '- a\n'],
  ['a kubeconfig whose users are no list', 'users: 3\n'],
] as const) {
  t.test(`a file that is ${what} is left alone`, async (t) => {
    const folder = t.testdir({ config });
    const file = join(folder, 'config');
    const { code, stderr } = await run(folder, [...SERVER, '--kubeconfig', file, ...LOGIN]);
    t.equal(code, 1);
    t.match(stderr, file);
    t.equal(readFileSync(file, 'utf8'), config);
    t.notOk(existsSync(`${file}.lock`));
  });
}

t.test('a file or folder that cannot be used is told, and nothing is left behind', async (t) => {
  const folder = t.testdir({ config: {}, file: '' });
  t.equal((await run(folder, [...SERVER, '--kubeconfig', join(folder, 'config'), ...LOGIN])).code, 1);
  const below = join(folder, 'file', 'config');
  t.equal((await run(folder, [...SERVER, '--kubeconfig', below, ...LOGIN])).code, 1);
  t.same(readdirSync(folder).sort(), ['config', 'file']);
});

t.test('--print shows what would be written of ours, and writes nothing', async (t) => {
  for (const [config, words, current] of [
    [THEIRS, [], undefined],
    [THEIRS, ['--use'], 'stonegate-example'],
    ['', [], 'stonegate-example'],
  ] as const) {
    const folder = t.testdir({ config });
    const file = join(folder, 'config');
    const argv = [...SERVER, '--kubeconfig', file, ...words];
    const { code, stdout } = await run(folder, [...argv, '--print', ...LOGIN]);
    t.equal(code, 0);
    t.equal(readFileSync(file, 'utf8'), config);
    const shown = parse(stdout);
    t.equal(shown['current-context'], current, 'only where it would be switched');
    t.notMatch(stdout, 'old-token', 'secrets of others are not shown');
    await run(folder, [...argv, ...LOGIN]);
    const written = parse(readFileSync(file, 'utf8'));
    for (const list of ['clusters', 'users', 'contexts']) t.same(written[list].slice(-1), shown[list]);
  }
});

t.test('--print refuses what the real run would refuse', async (t) => {
  const folder = t.testdir({ config: THEIRS });
  const words = [...SERVER, '--name', 'old', '--kubeconfig', join(folder, 'config'), '--print', ...LOGIN];
  const { code, stdout, stderr } = await run(folder, words);
  t.strictSame({ code, stdout }, { code: 1, stdout: '' });
  t.match(stderr, /the cluster "old" in .* is not of stonegate kubeconfig/);
});

t.test('files of the login are named so that kubectl finds them from everywhere', async (t) => {
  const folder = t.testdir();
  const words = ['--keystone', '--os-cacert', 'ks.crt', '--cache-dir=cache', '--os-username', 'alice'];
  const { stdout } = await run(folder, [...SERVER, '--print', '--command', './sg', '--', ...words]);
  t.match(parse(stdout).users[0].user.exec, {
    command: join(folder, 'sg'),
    args: [
      ...['login', '--keystone', '--os-cacert', join(folder, 'ks.crt')],
      ...[`--cache-dir=${join(folder, 'cache')}`, '--os-username', 'alice'],
    ],
  });
});

for (const [content, words] of [
  [undefined, /--ca-file: no such file: ca\.crt/],
  ['no certificate', /holds no certificate/],
  ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', /holds no certificate/],
] as const) {
  t.test(`an authority that is ${JSON.stringify(content)} is told before kubectl stumbles`, async (t) => {
    const folder = t.testdir();
    if (content !== undefined) writeFileSync(join(folder, 'ca.crt'), content);
    const { code, stderr } = await run(folder, [...SERVER, '--ca-file', 'ca.crt', ...LOGIN]);
    t.equal(code, 1);
    t.match(stderr, words);
    t.notOk(existsSync(join(folder, '.kube')));
  });
}

const WRONG: readonly (readonly [readonly string[], RegExp])[] = [
  [LOGIN, /--server URL is required/],
  [['--server', 'stonegate', ...LOGIN], /https address/],
  [['--server', 'http://stonegate', ...LOGIN], /https address/],
  [['--server', 'https://me@stonegate', ...LOGIN], /https address without a user/],
  [['--server', 'https://stonegate/foo', ...LOGIN], /without a path.*serves at its root/],
  [['--server', 'https://stonegate?a=b', ...LOGIN], /without a path, query and fragment/],
  [['--server', 'https://stonegate/#top', ...LOGIN], /without a path, query and fragment/],
  [
    [...SERVER, '--namespace', 'Sh op', ...LOGIN],
    /^stonegate kubeconfig: --namespace: "Sh op" is no DNS-1123 label: lower-case/,
  ],
  [[...SERVER, '--namespace', '', ...LOGIN], /^stonegate kubeconfig: --namespace: "" is no DNS-1123 label/],
  [[...SERVER, '--namespace', 'n'.repeat(64), ...LOGIN], /is longer than 63 characters/],
  [[...SERVER], /how to log in/],
  [[...SERVER, '--', '--keystone', '--oidc'], /one of --keystone and --oidc/],
  [
    [...SERVER, '--keystone', '--os-cloud', 'acme'],
    /^stonegate kubeconfig: unknown option '--keystone': it belongs to the login: put "--" before it/,
  ],
  [
    [...SERVER, '--issuer-url=https://login.example', '--oidc'],
    /^stonegate kubeconfig: unknown option '--issuer-url': it belongs to the login/,
  ],
  [
    [...SERVER, '--os-password=x', '--', '--keystone'],
    /^stonegate kubeconfig: unknown option '--os-password': it belongs to the login/,
  ],
  [[...SERVER, 'extra', ...LOGIN], /unexpected argument "extra"/],
  [[...SERVER, '--name', '...', ...LOGIN], /^stonegate kubeconfig: --name wants letters, digits and dashes:/],
  [
    [...SERVER, '--name', 'p_2', ...LOGIN],
    /^stonegate kubeconfig: --name wants letters, digits and dashes, such as p-2:/,
  ],
  [
    [...SERVER, '--projects', ',', '--', '--keystone'],
    /^stonegate kubeconfig: --projects wants "all", or names or ids/,
  ],
  [[...SERVER, '--projects', 'all', ...LOGIN], /--projects is for -- --keystone/],
  [[...SERVER, '--', '--keystone', '--os-password', 'x'], /--os-password is a secret/],
  [[...SERVER, '--', '--keystone', '--os-token=x'], /--os-token is a secret/],
  [
    [
      ...[...SERVER, '--projects', 'all', '--', '--keystone', '--os-auth-url', 'https://keystone'],
      ...['--os-application-credential-id', 'x'],
    ],
    /its own project alone/,
  ],
];
for (const [argv, message] of WRONG) {
  t.test(`${argv.join(' ')} is wrong usage`, async (t) => {
    const { code, stderr, stdout } = await run(t.testdir(), argv);
    t.match({ code, stdout }, { code: 2, stdout: '' });
    t.match(stderr, message);
    t.match(stderr, /Usage: stonegate kubeconfig/);
  });
}

const OIDC = LOGIN.slice(1);
const UNUSABLE_LOGINS: readonly (readonly [readonly string[], RegExp])[] = [
  [
    ['--keystone', '--os-clod', 'acme'],
    /^stonegate kubeconfig: the login behind "--": Unknown option '--os-clod'\n/,
  ],
  [['--keystone', '--issuer-url', 'https://login.example'], /--issuer-url goes with --oidc/],
  [['--keystone', '--os-cloud'], /'--os-cloud <value>' argument missing/],
  [['--keystone', 'acme'], /^stonegate kubeconfig: unexpected argument "acme"/],
  [['--keystone', '--'], /^stonegate kubeconfig: unexpected argument "--"/],
  [['--keystone', '--os-auth-url', 'http://keystone.example'], /is not https/],
  [['--keystone', '--os-auth-type', 'v3totp'], /second factor/],
  [['--oidc', '--client-id', 'x'], /--issuer-url is required/],
  [['--oidc', '--issuer-url', 'https://login.example'], /--client-id is required/],
  [['--oidc', '--issuer-url', 'http://login.example', '--client-id', 'x'], /--issuer-url must be https/],
  [[...OIDC, '--os-cloud', 'acme'], /--os-cloud goes with --keystone/],
  [[...OIDC, '--listen-port', 'many'], /--listen-port is no port/],
  [[...OIDC, '--projects', 'all'], /the login behind "--": Unknown option '--projects'/],
];
for (const [words, message] of UNUSABLE_LOGINS) {
  t.test(`a login that would refuse ${words.join(' ')} is not written over one that works`, async (t) => {
    const folder = t.testdir();
    await run(folder, [...SERVER, ...LOGIN]);
    const file = join(folder, '.kube', 'config');
    const before = readFileSync(file, 'utf8');
    const { code, stdout, stderr } = await run(folder, [...SERVER, '--force', '--', ...words]);
    t.strictSame({ code, stdout }, { code: 2, stdout: '' });
    t.match(stderr, message);
    t.equal(readFileSync(file, 'utf8'), before);
  });
}

t.test('what the variables and clouds of another machine may say is not missed', async (t) => {
  t.equal((await run(t.testdir(), [...SERVER, '--', '--keystone'])).code, 0);
});

const withCloud = (...more: string[]) => [...SERVER, ...more, '--', '--keystone', '--os-cloud', 'acme'];
const CLOUDS = { '.config': { openstack: { 'clouds.yaml': 'clouds: { globex: {}, initech: {} }' } } };

t.test('a cloud that clouds.yaml does not have is refused, with those it has', async (t) => {
  const folder = t.testdir(CLOUDS);
  const { code, stderr } = await run(folder, withCloud());
  t.equal(code, 1);
  t.match(stderr, /no cloud "acme" in .*clouds\.yaml; there is globex, initech\./);
  t.notOk(existsSync(join(folder, '.kube')), 'nothing is written');
  t.equal((await run(folder, withCloud('--force'))).code, 0, 'for another machine');
});

t.test('a cloud that clouds.yaml has is taken without a word', async (t) => {
  const file = t.testdir({ mine: 'clouds: { acme: {} }' });
  const env = { OS_CLIENT_CONFIG_FILE: join(file, 'mine') };
  t.match(await run(file, withCloud(), env), { code: 0, stderr: '' });
});

t.test(
  'without any clouds.yaml the kubeconfig is written, with a note that the cloud is not checked',
  async (t) => {
    const folder = t.testdir({ 'clouds.yaml': 'clouds: { acme: {} }' });
    const { code, stderr } = await run(folder, withCloud());
    t.equal(code, 0);
    t.match(
      stderr,
      /"acme" is not checked: no clouds\.yaml \(looked in /,
      'kubectl looks into no working folder',
    );
  },
);

t.test('a clouds.yaml that cannot be read is told before kubectl meets it', async (t) => {
  const folder = t.testdir({ '.config': { openstack: { 'clouds.yaml': 'clouds: [' } } });
  t.match(await run(folder, withCloud()), { code: 1, stderr: /clouds\.yaml is no valid YAML/ });
});

t.test('a link whose name kubectl has locked is left alone', async (t) => {
  const folder = t.testdir({ real: THEIRS, 'config.lock': '' });
  const file = join(folder, 'config');
  symlinkSync(join(folder, 'real'), file);
  const { code, stderr } = await run(folder, [...SERVER, '--kubeconfig', file, ...LOGIN]);
  t.equal(code, 1);
  t.match(stderr, /config\.lock exists/);
  t.equal(readFileSync(join(folder, 'real'), 'utf8'), THEIRS);
  t.same(readdirSync(folder).sort(), ['config', 'config.lock', 'real']);
});

t.test(
  'names that YAML 1.1 takes for something else stay names, and words of others stay theirs',
  async (t) => {
    const theirs = 'clusters:\n  - name: old\n    cluster: { insecure-skip-tls-verify: yes }\n';
    for (const word of ['on', 'no', 'y', '1000', '0b1', '1e3']) {
      const folder = t.testdir({ config: theirs });
      const file = join(folder, 'config');
      const words = [...SERVER, '--kubeconfig', file, '--name', 'on', '--namespace', word, ...LOGIN];
      t.equal((await run(folder, words)).code, 0);
      const text = readFileSync(file, 'utf8');
      t.match(parse(text, { version: '1.1' }), {
        'current-context': 'on',
        clusters: [{ cluster: { 'insecure-skip-tls-verify': true } }, { name: 'on' }],
        contexts: [{ name: 'on', context: { cluster: 'on', user: 'on', namespace: word } }],
      });
      t.match(text, 'insecure-skip-tls-verify: yes }');
    }
  },
);

t.test('a file below ~/ is left to the login, which knows whose home it is', async (t) => {
  const folder = t.testdir();
  const { stdout } = await run(folder, [
    ...SERVER,
    '--print',
    ...LOGIN,
    '--ca-file=~/ca.crt',
    '--cache-dir',
    '~/c',
  ]);
  t.match(stdout, '- --ca-file=~/ca.crt\n');
  t.match(stdout, '- ~/c\n');
});

t.test('a slash at the end of the address is no path', async (t) => {
  const { stdout } = await run(t.testdir(), ['--server', 'https://stonegate.example/', '--print', ...LOGIN]);
  t.equal(parse(stdout).clusters[0].cluster.server, 'https://stonegate.example');
});

t.test('a password in the address of the server is refused, and not shown', async (t) => {
  const { code, stdout, stderr } = await run(t.testdir(), [
    '--server',
    'https://:hidden@k8s.example',
    ...LOGIN,
  ]);
  t.strictSame([code, stdout], [2, '']);
  t.notMatch(stderr, 'hidden');
});

/**
 * What commands print about a running Stonegate, in each format, with values that differ from run to run
 * replaced.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { runLogin } from '../support/login-process.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { startStonegate } from '../support/stonegate.ts';
import { runStonegate } from '../support/stonegate-process.ts';
import type { Mode } from '../support/testbed.ts';
import { createAuthority } from '../support/tls/authority.ts';
import { asJSON, sameAsRecorded } from './recorded.ts';

// Each call starts its own process.
t.setTimeout(600_000);

async function setUp(t: Test, mode: Mode) {
  const folder = t.testdir();
  const stonegate = await startStonegate(t, { folder, mode });
  await writeFile(join(folder, 'alice'), stonegate.keystoneToken('alice'));
  const { directory } = stonegate.keystone;
  const ids = [
    [directory.project('acme', 'web').id, 'PROJECT'],
    [directory.user('acme', 'alice').id, 'USER'],
    [directory.user('acme', 'alice').domain.id, 'DOMAIN'],
  ] as const;
  const plain = (text: string): string => {
    let result = text.replaceAll(folder, 'FOLDER').replaceAll(stonegate.url, 'SERVER');
    for (const [id, name] of ids) result = result.replaceAll(id, name.padEnd(id.length, '-'));
    return result
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?/g, 'TIME')
      .replace(/127\.0\.0\.1:\d+/g, 'LOOPBACK')
      .replace(/\d+ min left/g, 'N min left')
      .replace(/^\[\d+\//gm, '[N/')
      .replace(/\b[0-9a-f]{32,40}\b/g, (id) => 'x'.repeat(id.length))
      .replace(/(?<=audit-id"?: "?)[\w-]+/g, 'AUDIT-ID')
      .replace(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UUID');
  };
  return { ...stonegate, folder, plain };
}

for (const mode of ['arktos', 'shared'] as const) {
  t.test(`${mode}: whoami and explain print what is recorded`, async (t) => {
    const { folder, url, configFile, plain } = await setUp(t, mode);
    const server = [
      '--server',
      url,
      '--ca-file',
      join(folder, 'ca.crt'),
      '--token-file',
      join(folder, 'alice'),
    ];
    const namespace = mode === 'arktos' ? 'default' : 'acme';
    const explain = [['get', 'pods', '-n', namespace], ['get', 'pods', '--path', '/metrics'].slice(2)];
    for (const format of ['table', 'json', 'yaml']) {
      const { code, stdout, stderr } = await runStonegate('whoami', ...server, '-o', format);
      t.same([code, stderr], [0, '']);
      sameAsRecorded(t, `output/${mode}/whoami.${format}`, plain(stdout));
      for (const [at, words] of explain.entries()) {
        const given = [...words, '--token-file', join(folder, 'alice'), '--config', configFile, '-o', format];
        const explained = await runStonegate('explain', ...given);
        t.equal(explained.code, 0, explained.stderr);
        sameAsRecorded(t, `output/${mode}/explain-${at + 1}.${format}`, plain(explained.stdout));
      }
    }
  });

  t.test(`${mode}: sync --dry-run, then sync twice, print what is recorded`, async (t) => {
    const stonegate = await setUp(t, mode);
    const { sync } = await admitProvisioner(stonegate, { mode });
    const printed: Record<string, unknown> = {};
    for (const [name, words] of Object.entries({ dry: ['--dry-run'], first: [], second: [] })) {
      const { code, stdout } = await sync(...words);
      printed[name] = { code, stdout: stonegate.plain(stdout).split('\n').sort() };
    }
    sameAsRecorded(t, `output/${mode}/sync.json`, asJSON(printed));
  });
}

t.test('login --keystone prints an ExecCredential', async (t) => {
  const { folder, keystone } = await setUp(t, 'arktos');
  const config = join(folder, 'home', '.config', 'openstack');
  await mkdir(config, { recursive: true });
  const auth = {
    ...{ auth_url: keystone.url, username: 'alice', user_domain_name: 'acme', password: 'alice-pass' },
    ...{ project_name: 'web', project_domain_name: 'acme' },
  };
  const clouds = { clouds: { acme: { cacert: join(folder, 'ca.crt'), auth } } };
  await writeFile(join(config, 'clouds.yaml'), JSON.stringify(clouds));
  const env = { HOME: join(folder, 'home'), OS_CLOUD: 'acme', NODE_NO_WARNINGS: '1' };
  for (const version of ['v1', 'v1beta1']) {
    const info = {
      apiVersion: `client.authentication.k8s.io/${version}`,
      kind: 'ExecCredential',
      spec: { interactive: false },
    };
    const given = { ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
    const { code, stdout, stderr } = await runLogin(['--keystone'], given);
    t.same([code, stderr], [0, '']);
    const plain = stdout
      .replace(/"token":( ?)"[^"]+"/, '"token":$1"TOKEN"')
      .replace(/"expirationTimestamp":( ?)"[^"]+"/, '"expirationTimestamp":$1"TIME"');
    sameAsRecorded(t, `output/login-${version}.json`, plain);
  }
});

t.test('kubeconfig --print prints what is recorded', async (t) => {
  const folder = t.testdir();
  const { cert } = await createAuthority();
  await writeFile(join(folder, 'ca.crt'), cert);
  const common = ['--server', 'https://stonegate.example:8443', '--kubeconfig', join(folder, 'config')];
  const calls = {
    oidc: [
      ...common,
      '--print',
      '--',
      '--oidc',
      '--issuer-url',
      'https://a.example',
      '--client-id',
      'kubectl',
    ],
    keystone: [
      ...common,
      ...['--ca-file', join(folder, 'ca.crt'), '--name', 'prod', '--namespace', 'web', '--print', '--force'],
      ...['--', '--keystone', '--os-cloud', 'acme'],
    ],
    written: [...common, '--', '--oidc', '--issuer-url', 'https://a.example', '--client-id', 'kubectl'],
  };
  for (const [name, words] of Object.entries(calls)) {
    const { code, stdout, stderr } = await runStonegate('kubeconfig', ...words);
    t.equal(code, 0, stderr);
    const plain = stdout
      .replaceAll(folder, 'FOLDER')
      .replaceAll(Buffer.from(cert).toString('base64'), 'CERTIFICATE');
    sameAsRecorded(t, `output/kubeconfig-${name}.txt`, plain);
  }
});

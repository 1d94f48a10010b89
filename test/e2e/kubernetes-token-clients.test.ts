/**
 * Access tokens in the hands of users at a real kube-apiserver: created and revoked with kubectl and with
 * `stonegate token`, and used by kubectl, Helm, and programs in Python and Go.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { explainWith } from '../../src/app/commands/explain.ts';
import { explain } from '../../src/cli/explain.ts';
import { kubeconfig } from '../../src/cli/kubeconfig.ts';
import { token as tokenCommand } from '../../src/cli/token.ts';
import { whoami } from '../../src/cli/whoami.ts';
import { createKubectl, findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { addRunningPod } from '../support/high-availability/kubelet.ts';
import { kubeconfigOf } from '../support/kubeconfig.ts';
import { helm, missing, missingControllers, pythonClient } from '../support/kubernetes/programs.ts';
import { startTokenSite } from '../support/kubernetes/token-site.ts';
import { commandsRunBy, readersShell, runShell } from '../support/page-commands.ts';
import { rule } from '../support/policy-rule.ts';
import { printedBy } from '../support/printed-io.ts';

const run = promisify(execFile);
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const binaries = findAllKubectls();
const absent = missingControllers() || (binaries.length === 0 && NO_KUBECTL);

const object = (...scopes: readonly string[]) =>
  JSON.stringify({
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'AccessToken',
    metadata: { name: 'ignored' },
    spec: { description: 'for a test', scopes, expirationSeconds: 3_600 },
  });

t.test('access tokens and their clients', { skip: absent }, async (t) => {
  const site = await startTokenSite(t);
  const { stonegate, testbed, kubernetes } = site;
  const alice = testbed.keystoneToken('alice');
  await site.letWork('acme', 'acme:alice');
  await site.letWork('lab', 'acme:alice');
  await addRunningPod(t, kubernetes, 'acme', 'web');
  const address = { server: stonegate.url, ca: stonegate.authority.cert };
  const kubectlOf = (t: Pick<Test, 'teardown'>, binary: string, token: string) =>
    createKubectl(t, binary, { ...address, token });
  const files = mkdtempSync(join(tmpdir(), 'token-clients-'));
  t.teardown(() => rmSync(files, { recursive: true }));
  /** Writes a kubeconfig with a new token of alice. */
  const fileWith = async (...scopes: readonly string[]) => {
    const { name, secret } = await site.make(alice, ...scopes);
    const file = join(files, name);
    writeFileSync(file, kubeconfigOf({ url: address.server, ca: address.ca }, { token: secret }));
    return file;
  };

  for (const binary of binaries)
    await t.test(`${binary.split('/').at(-1)}`, async (t) => {
      const kubectl = kubectlOf(t, binary, alice);
      const create = async (...scopes: readonly string[]) => {
        const words = ['create', '-f', '-', '-o', 'jsonpath={.metadata.name} {.status.token}'];
        const { stdout, stderr } = await kubectl.run(words, object(...scopes));
        t.match(stderr, /Warning: the secret is only in this response/);
        const [name = '', secret = ''] = stdout.split(' ');
        t.match(secret, /^sgt_[0-9a-z]{8}[0-9A-Za-z]{38}$/, stderr);
        return { name, secret };
      };
      const { name, secret } = await create('namespace/acme/control');
      const refused = await kubectl.run('create -f -', object('namespace/acme/all'));
      t.match(refused, { code: 1, stderr: /there is no scope "namespace\/acme\/all"/ });
      await eventually(async () => (await kubectl.run(['get', 'accesstoken', name])).code === 0);

      await t.test('get, describe and explain work, and do not show the secret', async (t) => {
        const got = await kubectl.run(['get', 'atok', name]);
        t.match(got.stdout, /^NAME +SCOPES +STATE +EXPIRES +LAST USED +DESCRIPTION +AGE\n/, got.stderr);
        t.match(got.stdout, new RegExp(`^${name} +namespace/acme/control +active .* for a test `, 'm'));
        const described = await kubectl.run(['describe', 'accesstokens.stonegate.dev', name]);
        t.match(described.stdout, /State: +active/, described.stderr);
        t.notMatch(described.stdout + got.stdout, 'sgt_', 'the secret is not shown again');
        t.match((await kubectl.run('explain accesstoken.spec')).stdout, /expirationSeconds/);
      });

      await t.test(
        'kubectl --token works where the scope allows it, and elsewhere shows why not',
        async (t) => {
          const bare = kubectlOf(t, binary, 'none');
          const as = (words: readonly string[]) => bare.run(['--token', secret, ...words]);
          t.match(await as(['get', 'pods', '-n', 'acme']), { code: 0, stdout: /^web /m });
          t.match(await as(['get', 'pods', '-n', 'lab']), {
            code: 1,
            stderr: `the access token ${name} does not allow it: its scopes are namespace/acme/control`,
          });
          t.match(await as(['get', 'accesstokens']), { code: 1, stderr: /Forbidden/ });
        },
      );

      await t.test('exec needs the scope +exec', async (t) => {
        const words = ['exec', '-n', 'acme', 'web', '--', 'echo', 'hello'];
        const without = await kubectlOf(t, binary, secret).run(words);
        t.not(without.code, 0);
        t.match(without.stderr, /does not allow it|forbidden/i);
        const { secret: strong } = await create('namespace/acme/control', '+exec');
        t.match(await kubectlOf(t, binary, strong).run(words), { code: 0, stdout: 'hello\n' });
      });

      await t.test('delete returns at once, and the token is revoked', async (t) => {
        const deleted = await kubectl.run(['delete', 'accesstoken', name, '--timeout=30s']);
        t.match(deleted, { code: 0, stderr: '' });
        await eventually(async () => (await stonegate.ask(secret, '/api')).status === 401);
        t.match((await kubectl.run(['get', 'accesstoken', name])).stdout, / revoked /);
        t.match(
          await kubectl.run(['delete', 'accesstoken', name, '--timeout=30s']),
          { code: 0 },
          'deleting it again succeeds',
        );
      });
    });

  await t.test(
    'Helm needs +secrets, since it stores its releases in Secrets',
    { skip: missing(helm()) },
    async (t) => {
      const chart = t.testdir({
        'Chart.yaml': 'apiVersion: v2\nname: site\nversion: 1.0.0\n',
        templates: { 'c.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: by-helm }\n' },
      });
      const env = { ...process.env, HELM_CACHE_HOME: chart };
      const release = (file: string, ...words: readonly string[]) =>
        run(helm(), [...words, '--namespace', 'acme', '--kubeconfig', file], { env });
      const weak = await fileWith('namespace/acme/edit');
      await t.rejects(release(weak, 'install', 'site', chart), /does not allow it/);
      const file = await fileWith('namespace/acme/edit', '+secrets');
      await release(file, 'install', 'site', chart);
      await release(file, 'uninstall', 'site');
    },
  );

  await t.test('Python’s kubernetes', { skip: missing(pythonClient()) }, async (t) => {
    const file = await fileWith('namespace/acme/edit', '+exec');
    const env = { ...process.env, PYTHONPATH: pythonClient() };
    const client = path('../support/kubernetes/clients/client.py');
    const { stdout } = await run('python3', [client, file, 'acme'], { env });
    t.match(JSON.parse(stdout), {
      listed: ['by-python'],
      watched: ['MODIFIED blue', 'DELETED blue'],
      executed: 'hello\n',
      allowed: true,
      refused: /^nodes is forbidden: User "acme:alice" cannot list resource "nodes"/,
    });
  });

  await t.test('docs/tokens.md', async (t) => {
    await site.letWork('web', 'acme:alice');
    const shell = readersShell(t.testdir({}));
    const KUBECONFIG = join(shell.folder, 'kubeconfig');
    writeFileSync(KUBECONFIG, kubeconfigOf({ url: address.server, ca: address.ca }, { token: alice }));
    const script = commandsRunBy('test/e2e/kubernetes-token-clients.test.ts', 'docs/tokens.md').join('\n');
    const { output, code } = await runShell({ ...shell, env: { ...shell.env, KUBECONFIG } }, script);
    t.equal(code, 0, output);
    t.match(output, /No resources found in web namespace/);
    t.match(output, /namespace\/web\/edit +active .* deploys web/);
  });

  await t.test('stonegate token, whoami and kubeconfig', async (t) => {
    const folder = t.testdir({ 'ca.crt': address.ca, alice });
    const server = ['--server', address.server, '--ca-file', join(folder, 'ca.crt')];
    const token = (...words: readonly string[]) =>
      printedBy(tokenCommand, [...words, ...server, '--token-file', join(folder, 'alice')], {});
    const rules = [{ ...rule('get', 'configmaps'), namespaces: ['lab'] }];
    writeFileSync(join(folder, 'rules'), JSON.stringify(rules));
    const made = await token(
      ...['create', '--scope', 'namespace/acme/edit', '--scope', '+secrets', '--expires', '7d'],
      ...['--rules', join(folder, 'rules'), '--description', 'deploys'],
    );
    t.match(made, { code: 0, stdout: /^sgt_\w{46}\n$/ });
    const id = made.stdout.slice(4, 12);
    t.match(made.stderr, new RegExp(`${id}, valid until 20`));
    t.match(made.stderr, /mount every Secret/);
    t.match(made.stderr, /\+secrets: it reads and writes Secrets/);
    writeFileSync(join(folder, 'token'), made.stdout);
    await eventually(async () => (await token('list')).stdout.includes(id));
    const listed = (await token('list')).stdout.split('\n').find((line) => line.startsWith(id));
    t.match(listed, /namespace\/acme\/edit \+secrets 1 rules +active +\S+Z +\S+ +deploys/);
    const self = await printedBy(whoami, [...server, '--token-file', join(folder, 'token')], {});
    const explained = ['get', 'pods', '-n', 'lab', '--token-file', join(folder, 'token')];
    const { stdout } = await printedBy(
      explain,
      [...explained, '--config', stonegate.configFile],
      explainWith,
    );
    t.match(stdout, `by the access token ${id}`);
    t.match(stdout, /^ +token-scope +REFUSED .*its scopes are namespace\/acme\/edit \+secrets/m);
    t.match(self.stdout, `Access token  ${id} (namespace/acme/edit +secrets {`);

    t.match(await token('create', '--scope', 'namespace/acme/edit'), {
      code: 2,
      stdout: '',
      stderr: /--expires is required, such as 12h or 30d: .*\(30d\)/,
    });
    t.match(await token('create', '--expires', '1h'), { code: 1, stderr: /at least one scope/ });

    const rotated = await token('rotate', id, '--overlap', '0s');
    t.match(rotated, { code: 0, stdout: new RegExp(`^sgt_${id}\\w{38}\\n$`) });
    await eventually(async () => (await stonegate.ask(made.stdout.trim(), '/api')).status === 401);
    t.match(await stonegate.ask(rotated.stdout.trim(), '/api'), { status: 200 });
    t.match(await token('revoke', 'none', id), {
      code: 1,
      stdout: `${id} revoked\n`,
      stderr: /"none" not found/,
    });
    await eventually(async () => (await stonegate.ask(rotated.stdout.trim(), '/api')).status === 401);
    t.match((await token('list', '-o', 'json')).stdout, /"state": "revoked"/);
    const ended = await printedBy(whoami, [...server, '--token-file', join(folder, 'token')], {});
    t.match(ended, { code: 1, stderr: new RegExp(`It is the access token ${id}\\. .*stonegate token list`) });

    const command = join(folder, 'login');
    const credential = {
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      status: { token: alice },
    };
    writeFileSync(command, `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`, { mode: 0o755 });
    const file = join(folder, 'kubeconfig');
    const login = ['--', '--oidc', '--issuer-url', 'https://login.example', '--client-id', 'kubectl'];
    const words = [...server, '--kubeconfig', file, '--command', command, '--name', 'demo'];
    const configure = (...more: readonly string[]) =>
      printedBy(kubeconfig, [...words, ...more, ...login], { env: {}, folder });
    t.match(await configure(), { code: 0 });
    t.match(await configure('--token-scope', 'namespace/acme/read', '--token-expires', '30d'), {
      code: 0,
      stdout: /: context demo-namespace-acme-read\n/,
      stderr: /valid until/,
    });
    t.equal(statSync(file).mode & 0o777, 0o600);
    const written = parse(readFileSync(file, 'utf8'));
    t.match(written, {
      'current-context': 'demo',
      clusters: [{ name: 'demo' }],
      users: [
        { name: 'demo', user: { exec: { command } } },
        { name: 'demo-namespace-acme-read', user: { token: /^sgt_/ } },
      ],
    });
    const kubectl = kubectlOf(t, binaries.at(-1) ?? '', 'none');
    const context = ['--kubeconfig', file, '--context', 'demo-namespace-acme-read'];
    t.match(await kubectl.run([...context, 'get', 'pods']), { code: 0, stdout: /^web /m });

    const secret = join(folder, 'secrets', 'agent');
    const separate = [
      '--token-scope',
      'namespace/acme/read',
      '--token-expires',
      '1h',
      '--token-file',
      secret,
    ];
    t.match(await configure(...separate, '--name', 'agent', '--kubeconfig', `${file}-agent`), { code: 0 });
    t.match(parse(readFileSync(`${file}-agent`, 'utf8')).users, [{ user: { tokenFile: secret } }]);
    t.notMatch(readFileSync(`${file}-agent`, 'utf8'), /sgt_/, 'the kubeconfig contains no secret');
    t.equal(statSync(secret).mode & 0o777, 0o600);
    t.match(await kubectl.run(`--kubeconfig ${file}-agent get pods`), {
      code: 0,
      stdout: /^web /m,
    });
  });
});

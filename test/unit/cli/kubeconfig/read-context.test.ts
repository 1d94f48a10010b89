import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readContext } from '../../../../src/cli/kubeconfig/read-context.ts';
import { eachRow } from '../../../support/rows.ts';

const config = (user: object, cluster: object = {}, more: object = {}) =>
  JSON.stringify({
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://s:1', ...cluster } }],
    users: [{ name: 'u', user }],
    ...more,
  });

const NO_USER = { username: '', uid: '', groups: [], extra: {} };

const read = (folder: string, ...names: string[]) =>
  readContext((names.length === 0 ? ['config'] : names).map((name) => join(folder, name)));

t.test('the current context gives the address and the credential', async (t) => {
  const cluster = {
    'certificate-authority-data': Buffer.from('PEM').toString('base64'),
    'tls-server-name': 'stonegate',
  };
  const context = await read(t.testdir({ config: config({ token: 'tok' }, cluster) }));
  t.match(context, {
    ...{ namespace: undefined, certificate: undefined, impersonated: NO_USER },
    ...{ url: 'https://s:1', ca: 'PEM', serverName: 'stonegate' },
  });
  t.equal((await context.credential()).authorization, 'Bearer tok');
});

t.test('the impersonated user and the namespace of the context are read', async (t) => {
  const user = {
    token: 'tok',
    as: 'bob',
    'as-uid': '7',
    'as-groups': ['a', 'b'],
    'as-user-extra': { scopes: ['x', 'y'], empty: null },
  };
  const contexts = [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'web' } }];
  const folder = t.testdir({
    config: config(user, {}, { contexts }),
    odd: config({ token: 't', as: 5, 'as-groups': 'a' }),
  });
  const extra = { scopes: ['x', 'y'], empty: [] };
  const { namespace, impersonated } = await read(folder);
  t.equal(namespace, 'web');
  t.strictSame(impersonated, { username: 'bob', uid: '7', groups: ['a', 'b'], extra });
  t.strictSame((await read(folder, 'odd')).impersonated, NO_USER);
});

t.test(
  'files are found relative to the kubeconfig that names them, and tokenFile takes precedence over token',
  async (t) => {
    const folder = t.testdir({
      sub: {
        config: config({ token: 'tok', tokenFile: 'token' }, { 'certificate-authority': 'ca.crt' }),
        'ca.crt': 'PEM',
        token: 'from-file\n',
      },
    });
    const context = await read(folder, 'sub/config');
    t.equal(context.ca, 'PEM');
    t.equal((await context.credential()).authorization, 'Bearer from-file');
  },
);

t.test('the first of several files that sets a value counts, and missing files are ignored', async (t) => {
  const folder = t.testdir({
    a: JSON.stringify({ users: [{ name: 'u', user: { token: 'first' } }] }),
    b: config({ token: 'second' }),
    empty: '',
  });
  t.equal((await (await read(folder, 'none', 'empty', 'a', 'b')).credential()).authorization, 'Bearer first');
});

t.test("the ID token of kubectl's auth-provider oidc is read, behind a token and a plugin", async (t) => {
  const provider = { 'auth-provider': { name: 'oidc', config: { 'id-token': 'ID', 'client-id': 'k' } } };
  const folder = t.testdir({ config: config(provider), both: config({ token: 'tok', ...provider }) });
  t.equal((await (await read(folder)).credential()).authorization, 'Bearer ID');
  t.equal((await (await read(folder, 'both')).credential()).authorization, 'Bearer tok');
});

const WRONG = [
  ['that is not YAML', 'a: [', /is no valid YAML \(line 1, column 5\)/],
  ['without a current context', '{}', /no current context in .*--context/],
  [
    'with insecure-skip-tls-verify',
    config({ token: 't' }, { 'insecure-skip-tls-verify': true }),
    /insecure-skip-tls-verify/,
  ],
  [
    'without a user',
    config({}),
    /has no token, tokenFile, exec, auth-provider, client-certificate or username/,
  ],
  [
    'with an auth-provider before its first login',
    config({ 'auth-provider': { name: 'oidc' } }),
    /run a kubectl/,
  ],
  [
    'with another auth-provider',
    config({ 'auth-provider': { name: 'gcp' } }),
    /auth-provider "gcp" .* not read/,
  ],
  ['with a certificate without its key', config({ 'client-certificate-data': 'eA==' }), /go together/],
  [
    'with a missing key',
    config({ 'client-certificate-data': 'eA==', 'client-key': 'none' }),
    /^client-key: no such file: none$/,
  ],
] as const;
for (const [what, text, message] of WRONG)
  t.test(`a kubeconfig ${what} is refused, and the error says why`, async (t) => {
    const folder = t.testdir({ config: text });
    const reading = read(folder).then((context) => context.credential());
    await t.rejects(reading, { message });
  });

/** A context whose plugin is this shell script. */
async function runPlugin(t: Test, script: string, exec: object = {}) {
  const user = { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin', ...exec } };
  const folder = t.testdir({ config: config(user), plugin: `#!/bin/sh\n${script}\n` });
  chmodSync(join(folder, 'plugin'), 0o755);
  return (await (await read(folder)).credential()).authorization;
}

const credential = (status: object, apiVersion = 'client.authentication.k8s.io/v1') =>
  `echo '${JSON.stringify({ kind: 'ExecCredential', apiVersion, status })}'`;

t.test('a plugin is run as kubectl runs it', async (t) => {
  const script = `[ "$1-$2-$NAME" = "a-b c-value" ] || exit 9
case "$KUBERNETES_EXEC_INFO" in *'"interactive":false'*) ;; *) exit 8;; esac
${credential({ token: 'tok' })}`;
  const env = [{ name: 'NAME', value: 'value' }, { name: 'BROKEN' }, 'x'];
  t.equal(await runPlugin(t, script, { args: ['a', 'b c'], env, interactiveMode: 'Never' }), 'Bearer tok');
});

t.test('the error about a missing plugin says how to install it', async (t) => {
  const exec = { command: './absent', installHint: 'install it:\napt install it' };
  const message = /cannot be run: .*ENOENT$/;
  await t.rejects(runPlugin(t, '', exec), { message, remarks: ['install it:', 'apt install it'] });
});

const V1BETA1 = 'client.authentication.k8s.io/v1beta1';
await eachRow(
  `
  kill $$ | sign-in failed: plugin ended with an error
  echo secret | printed no JSON
  ${credential({ token: 'secret' }, V1BETA1)} | no ExecCredential of client.authentication.k8s.io/v1
  ${credential({ clientCertificateData: 'secret' })} | returned no token`,
  (script, message) =>
    t.test(`the error "… ${message}" about a plugin does not quote its output`, async (t) => {
      const failure: unknown = await runPlugin(t, script).catch((error: unknown) => error);
      t.ok(String(failure).endsWith(message), String(failure));
      t.notMatch(String(failure), /secret/);
    }),
);

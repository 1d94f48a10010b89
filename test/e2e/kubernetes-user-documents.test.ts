/**
 * The commands that the documents give to users, as they are typed, with real kubectl through Stonegate in
 * front of a real kube-apiserver.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { kubeconfigOf } from '../support/kubeconfig.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind } from '../support/kubernetes/rbac.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';
import { commandsRunBy, makeCommand, readersShell, runShell } from '../support/page-commands.ts';

const TEST = 'test/e2e/kubernetes-user-documents.test.ts';
const skip = missingKubernetes() || (findKubectls().length === 0 && NO_KUBECTL);

t.test('the pages for users', { skip }, async (t) => {
  const { kubernetes, stonegate, letWork } = await startKubernetesSite(t);
  await letWork('web', 'acme:alice');
  const { url, authority, configFile } = stonegate;
  const token = stonegate.keystoneToken('alice');
  // The folder has the configuration, its files and ca.crt.
  const folder = dirname(configFile);
  writeFileSync(join(folder, 'alice.token'), token);
  const run = async (env: Readonly<Record<string, string>>, script: string) => {
    const shell = readersShell(folder);
    const { output, code } = await runShell({ folder, env: { ...shell.env, ...env } }, script);
    if (code !== 0) throw new Error(`${script} ended with ${code}: ${output}`);
    return output;
  };

  await t.test('docs/providers/keystone.md', async (t) => {
    makeCommand(
      join(folder, 'bin', 'openstack'),
      `[ "$*" = 'token issue -f value -c id' ] && cat alice.token`,
    );
    const [configure = ''] = commandsRunBy(TEST, 'docs/providers/keystone.md');
    const local = configure.replace('https://stonegate.example.com:8443', url);
    const output = await run({ KUBECONFIG: join(folder, 'readme') }, local);
    t.match(output, 'Context "stonegate" created.');
    t.match(output, /^Username +acme:alice$/m);
  });

  await t.test('docs/impersonation.md', async (t) => {
    await bind(kubernetes, {
      name: 'on-call',
      role: 'cluster-admin',
      subjects: ['user:acme:alice', 'user:acme:reader', 'user:acme:bob'],
    });
    const file = join(folder, 'kubeconfig');
    writeFileSync(file, kubeconfigOf({ url, ca: authority.cert }, { token }), { mode: 0o600 });
    const [acting = ''] = commandsRunBy(TEST, 'docs/impersonation.md');
    const output = await run({ KUBECONFIG: file }, acting);
    t.match(output, 'No resources found in default namespace.\nyes\n');
    t.match(output, /^Username +acme:bob$/m);
  });

  await t.test('docs/whoami-and-explain.md', async (t) => {
    const [kubeconfig = '', explain = ''] = commandsRunBy(TEST, 'docs/whoami-and-explain.md');
    const env = { KUBECONFIG: join(folder, 'mine'), OS_CLIENT_CONFIG_FILE: join(folder, 'clouds.yaml') };
    const output = await run(env, kubeconfig);
    t.match(output, 'context stonegate-example-web');
    t.match(readFileSync(env.KUBECONFIG, 'utf8'), /- --client-id\n +- kubectl\n/);
    const explained = await run({}, explain);
    t.match(explained, /^Request +GET \/api\/v1\/namespaces\/web\/pods$/m);
    t.match(explained, /^authenticate +passed +keystone vouches for user "alice" of the domain "acme"/m);
    t.match(explained, /^Outcome +forwarded/m);
  });
});

/**
 * docs/agents.md: kubernetes-mcp-server and a workflow of GitHub with an access token of an hour, through
 * Stonegate at a real kube-apiserver. No answer of any tool has the secret.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { addRunningPod } from '../support/high-availability/kubelet.ts';
import { kubeconfigFor } from '../support/kubeconfig.ts';
import { actionlint, mcpServer, missing, missingControllers } from '../support/kubernetes/programs.ts';
import { startTokenSite } from '../support/kubernetes/token-site.ts';
import { startMcpServer } from '../support/mcp-client.ts';
import { readersShell, runShell } from '../support/page-commands.ts';

const PAGE = readFileSync('docs/agents.md', 'utf8');
const fence = (language: string) => new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(PAGE)?.[1] ?? '';

const POD = { apiVersion: 'v1', kind: 'Pod', namespace: 'acme', name: 'web' };
const MANIFEST = JSON.stringify({
  ...{ apiVersion: 'v1', kind: 'ConfigMap' },
  metadata: { namespace: 'acme', name: 'by-agent' },
});
/** The arguments with which each tool is called; the tools of version 0.0.67. */
const TOOLS: Readonly<Record<string, object>> = {
  configuration_view: { minified: false },
  events_list: { namespace: 'acme' },
  namespaces_list: {},
  nodes_log: { name: 'node', query: 'kubelet' },
  nodes_stats_summary: { name: 'node' },
  nodes_top: {},
  pods_delete: POD,
  pods_exec: { ...POD, command: ['env'] },
  pods_get: POD,
  pods_list: {},
  pods_list_in_namespace: { namespace: 'acme' },
  pods_log: POD,
  pods_run: { image: 'image', namespace: 'acme', name: 'new' },
  pods_top: { namespace: 'acme' },
  projects_list: {},
  resources_create_or_update: { resource: MANIFEST },
  resources_delete: POD,
  resources_get: { ...POD, kind: 'Secret', name: 'password' },
  resources_list: { apiVersion: 'v1', kind: 'Secret', namespace: 'acme' },
  resources_scale: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'acme', name: 'web', scale: 3 },
};

t.test(
  'docs/agents.md: an agent with an access token of an hour',
  { skip: missingControllers() || missing(mcpServer()) },
  async (t) => {
    const site = await startTokenSite(t);
    const { kubernetes, stonegate, testbed } = site;
    const alice = testbed.keystoneToken('alice');
    for (const namespace of ['acme', 'lab']) await site.letWork(namespace, 'acme:alice');
    await addRunningPod(t, kubernetes, 'acme', 'web');
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await kubernetes.create('/api/v1/namespaces/lab/pods', { metadata: { name: 'other' }, spec });
    const { secret, name } = await site.make(alice, 'namespace/acme/read');
    const folder = mkdtempSync(join(tmpdir(), 'agents-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const server = { url: stonegate.url, ca: stonegate.authority.cert };
    const token = join(folder, 'token');
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(token, secret, { mode: 0o600 });
    writeFileSync(kubeconfig, kubeconfigFor(server, { tokenFile: token }));

    await t.test('no answer of any tool has the secret, and refusals name the scopes', async (t) => {
      const client = await startMcpServer(mcpServer(), ['--kubeconfig', kubeconfig]);
      t.same(await client.tools(), Object.keys(TOOLS).sort());
      const answers = new Map<string, string>();
      for (const [tool, given] of Object.entries(TOOLS))
        answers.set(tool, JSON.stringify(await client.ask('tools/call', { name: tool, arguments: given })));
      for (const [tool, answer] of answers) t.notMatch(answer, secret, tool);
      t.notMatch(await client.close(), secret);
      t.match(answers.get('configuration_view'), token);
      t.match(answers.get('pods_get'), 'acme');
      t.match(answers.get('pods_list_in_namespace'), 'web');
      t.match(answers.get('pods_list'), 'acme');
      t.notMatch(answers.get('pods_list'), /\bother\b/);
      const refused = `the access token ${name} does not allow it: its scopes are namespace/acme/read`;
      for (const tool of ['pods_delete', 'pods_run', 'resources_get', 'resources_list', 'resources_delete'])
        t.match(answers.get(tool), refused, tool);
    });

    await t.test('as on the page, no tool shows the kubeconfig or writes', async (t) => {
      const { args }: { args: string[] } = JSON.parse(fence('json')).mcpServers.kubernetes;
      const words = args.slice(1).map((word) => word.replace('/home/you/.kube/agent', kubeconfig));
      const client = await startMcpServer(mcpServer(), words);
      const tools = await client.tools();
      t.ok(tools.length > 10);
      for (const tool of ['configuration_view', 'pods_delete', 'pods_exec', 'resources_create_or_update'])
        t.notOk(tools.includes(tool), tool);
      await client.close();
      t.match(mcpVersion(), args[0]?.split('@')[1], 'the page has the version of this test');
    });

    await t.test('with the token in the kubeconfig, configuration_view hands it to the model', async (t) => {
      writeFileSync(kubeconfig, kubeconfigFor(server, { token: secret }));
      const client = await startMcpServer(mcpServer(), ['--kubeconfig', kubeconfig]);
      const shown = await client.ask('tools/call', { name: 'configuration_view', arguments: {} });
      t.match(JSON.stringify(shown), secret);
      await client.close();
    });

    await t.test('the workflow on the page deploys', async (t) => {
      const { secret: TOKEN } = await site.make(alice, 'namespace/acme/edit');
      const workflow: { jobs: { deploy: { steps: { run?: string }[] } } } = parse(fence('yaml'));
      const shell = readersShell(t.testdir({ 'ca.crt': server.ca, deploy: { 'c.yaml': MANIFEST } }));
      const scripts = workflow.jobs.deploy.steps.flatMap(({ run = '' }) => run);
      const script = scripts
        .join('\n')
        .replace(
          'https://kubernetes.example.com',
          `${server.url} --certificate-authority ca.crt --embed-certs`,
        )
        .replace('--namespace web', '--namespace acme');
      const GITHUB_ENV = join(shell.folder, 'github-env');
      const env = { ...shell.env, TOKEN, RUNNER_TEMP: folder, GITHUB_ENV };
      const { output, code } = await runShell({ ...shell, env }, script);
      t.equal(code, 0, output);
      t.match(output, 'configmap/by-agent created');
      t.notMatch(output, TOKEN);
      t.equal(readFileSync(GITHUB_ENV, 'utf8'), `KUBECONFIG=${join(folder, 'kubeconfig')}\n`);
    });
  },
);

t.test('actionlint finds nothing wrong in the workflow', { skip: missing(actionlint()) }, async (t) => {
  const { status, stdout } = spawnSync(actionlint(), ['-no-color', '-'], {
    encoding: 'utf8',
    input: fence('yaml'),
  });
  t.equal(status, 0, stdout);
});

function mcpVersion() {
  const { optionalDependencies }: { optionalDependencies: Record<string, string> } = JSON.parse(
    readFileSync('test/support/kubernetes/clients/package.json', 'utf8'),
  );
  return Object.values(optionalDependencies)[0] ?? '';
}

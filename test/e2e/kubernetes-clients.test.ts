/**
 * kubectl, Helm and programs in Go, Python and JavaScript log in with `stonegate login` and work through
 * Stonegate at a real kube-apiserver. docs/clients.md names them and their versions.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { addRunningPod } from '../support/high-availability/kubelet.ts';
import {
  helm,
  informer,
  javascriptClient,
  missing,
  missingKubernetes,
  NEWEST,
  OLDEST,
  pythonClient,
} from '../support/kubernetes/programs.ts';
import { runInformer } from '../support/kubernetes/run-informer.ts';
import { sameResponse } from '../support/kubernetes/same-response.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';
import { loginKubeconfig } from '../support/login-process.ts';
import type { RunningStonegate } from '../support/stonegate.ts';

const CONFIG_MAPS = '/api/v1/namespaces/acme/configmaps';
const REFUSED = /^nodes is forbidden: User "acme:alice" cannot list resource "nodes"/;
const run = promisify(execFile);
const script = (name: string) =>
  fileURLToPath(new URL(`../support/kubernetes/clients/${name}`, import.meta.url));

/** Writes a kubeconfig with which clients run `stonegate login` as alice. */
function writeKubeconfig({ configFile, url, authority, keystone }: RunningStonegate) {
  const folder = dirname(configFile);
  const file = join(folder, 'kubeconfig');
  const env = {
    HOME: folder,
    NODE_NO_WARNINGS: '1',
    OS_AUTH_URL: keystone.url,
    OS_CACERT: join(folder, 'ca.crt'),
    OS_USERNAME: 'alice',
    OS_PASSWORD: 'alice-pass',
    OS_USER_DOMAIN_NAME: 'acme',
    OS_PROJECT_NAME: 'web',
    OS_PROJECT_DOMAIN_NAME: 'acme',
  };
  const words = ['--keystone'];
  writeFileSync(file, loginKubeconfig({ server: url, ca: authority.cert, words, env }));
  return file;
}

t.test('docs/clients.md names the versions that are tested here', async (t) => {
  const page = readFileSync('docs/clients.md', 'utf8');
  const versionOf = (file: string, pattern: RegExp) =>
    pattern.exec(readFileSync(script(file), 'utf8'))?.[1] ?? '';
  for (const [client, version] of [
    ['Helm', /helm-(.+)$/.exec(helm())?.[1]],
    ['client-go', /informer-(v[\d.]+)/.exec(informer())?.[1]],
    ['Python `kubernetes`', versionOf('requirements.txt', /^kubernetes==(.+)$/m)],
    ['JavaScript `@kubernetes/client-node`', versionOf('package.json', /client-node": "(.+)"/)],
  ])
    t.ok(page.includes(`| ${client} | ${version} |`), `${client} ${version}`);
});

// The oldest release refuses to send initial events; client-go then lists, and watches from there.
for (const release of [OLDEST, NEWEST] as const) {
  const absent = missingKubernetes(release) || missing(informer());
  t.test(`client-go’s informer at a kube-apiserver of ${release}`, { skip: absent }, async (t) => {
    const site = await startKubernetesSite(t, { release });
    const { kubernetes, stonegate } = site;
    await site.letWork('acme', 'acme:alice');
    await kubernetes.create(CONFIG_MAPS, { metadata: { name: 'first' } });
    const informed = runInformer(writeKubeconfig(stonegate), 'v1/configmaps', 'acme');
    t.same(await informed.next(), { event: 'added', namespace: 'acme', name: 'first' });
    t.same(await informed.next(), { event: 'synced' });
    await kubernetes.create(CONFIG_MAPS, { metadata: { name: 'second' } });
    t.match(await informed.next(), { event: 'added', name: 'second' });
    await kubernetes.admit('DELETE', `${CONFIG_MAPS}/second`);
    t.match(await informed.next(), { event: 'deleted', name: 'second' });
    await informed.stop();

    const token = stonegate.keystoneToken('alice');
    const alice = { token, credential: await site.direct(token) };
    const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true';
    const refused = await sameResponse(t, site, alice, `${CONFIG_MAPS}?${query}`);
    t.match(refused.json(), { code: 422, reason: 'Invalid' });
  });
}

t.test('other clients', { skip: missingKubernetes() }, async (t) => {
  const { kubernetes, stonegate, letWork } = await startKubernetesSite(t);
  await letWork('acme', 'acme:alice');
  await addRunningPod(t, kubernetes, 'acme', 'web');
  const kubeconfig = writeKubeconfig(stonegate);
  const colorOf = async (name: string): Promise<unknown> =>
    JSON.parse((await kubernetes.admit('GET', `${CONFIG_MAPS}/${name}`)).body).data.color;

  await t.test('JavaScript’s @kubernetes/client-node', { skip: missing(javascriptClient()) }, async (t) => {
    const words = [script('client.mjs'), javascriptClient(), kubeconfig, 'acme'];
    const { stdout } = await run(process.execPath, words);
    t.match(JSON.parse(stdout), {
      listed: ['by-javascript'],
      informed: 'blue',
      watched: ['MODIFIED blue', 'DELETED blue'],
      executed: 'hello\n',
      allowed: true,
      refused: REFUSED,
    });
  });

  await t.test('Python’s kubernetes', { skip: missing(pythonClient()) }, async (t) => {
    const env = { ...process.env, PYTHONPATH: pythonClient() };
    const { stdout } = await run('python3', [script('client.py'), kubeconfig, 'acme'], { env });
    t.match(JSON.parse(stdout), {
      listed: ['by-python'],
      watched: ['MODIFIED blue', 'DELETED blue'],
      discovered: 'by-python-too',
      executed: 'hello\n',
      allowed: true,
      refused: REFUSED,
    });
  });

  await t.test('Helm installs, upgrades and rolls back a release', { skip: missing(helm()) }, async (t) => {
    const chart = t.testdir({
      'Chart.yaml': 'apiVersion: v2\nname: site\nversion: 1.0.0\n',
      templates: {
        'settings.yaml':
          'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: by-helm }\ndata: { color: "{{ .Values.color }}" }\n',
      },
    });
    const env = { ...process.env, HELM_CACHE_HOME: chart };
    const release = async (...words: string[]) =>
      (await run(helm(), [...words, '--namespace', 'acme', '--kubeconfig', kubeconfig], { env })).stdout;
    await release('install', 'site', chart, '--set', 'color=red', '--wait');
    await release('upgrade', 'site', chart, '--set', 'color=blue', '--wait');
    t.equal(await colorOf('by-helm'), 'blue');
    await release('rollback', 'site', '1', '--wait');
    t.equal(await colorOf('by-helm'), 'red');
    t.match(await release('history', 'site'), /Rollback to 1/);
    await release('uninstall', 'site', '--wait');
    await t.rejects(colorOf('by-helm'));
  });

  const kubectls = findAllKubectls();
  await t.test('kubectl’s kustomize', { skip: kubectls.length === 0 && NO_KUBECTL }, async (t) => {
    const folder = t.testdir({
      base: {
        'kustomization.yaml': 'resources: [settings.yaml]\n',
        'settings.yaml':
          'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { color: red }\n',
      },
      overlay: {
        'kustomization.yaml': `namePrefix: kustomized-
namespace: acme
resources: [../base]
patches: [{ patch: '{ apiVersion: v1, kind: ConfigMap, metadata: { name: settings }, data: { color: blue } }' }]
`,
      },
    });
    for (const binary of new Set([kubectls[0] ?? '', kubectls.at(-1) ?? ''])) {
      const words = ['--kubeconfig', kubeconfig, '--cache-dir', folder];
      const kustomize = async (verb: string) =>
        void (await run(binary, [...words, verb, '-k', join(folder, 'overlay')]));
      await kustomize('apply');
      t.equal(await colorOf('kustomized-settings'), 'blue');
      await kustomize('delete');
    }
  });
});

/**
 * Programs in Go, Python and JavaScript work through Stonegate at a real kube-apiserver, each with its usual
 * client.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { kubeconfigOf } from '../support/kubeconfig.ts';
import {
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
import type { RunningStonegate } from '../support/stonegate.ts';

const CONFIG_MAPS = '/api/v1/namespaces/acme/configmaps';
const REFUSED = /^nodes is forbidden: User "acme:alice" cannot list resource "nodes"/;
const run = promisify(execFile);
const script = (name: string): string =>
  fileURLToPath(new URL(`../support/kubernetes/clients/${name}`, import.meta.url));

/** alice's, for Stonegate. */
function writeKubeconfig({ configFile, url, authority, keystoneToken }: RunningStonegate): string {
  const file = join(dirname(configFile), 'kubeconfig');
  writeFileSync(file, kubeconfigOf({ url, ca: authority.cert }, { token: keystoneToken('alice') }));
  return file;
}

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
  const { stonegate, letWork } = await startKubernetesSite(t);
  await letWork('acme', 'acme:alice');
  const kubeconfig = writeKubeconfig(stonegate);

  await t.test('JavaScript’s @kubernetes/client-node', { skip: missing(javascriptClient()) }, async (t) => {
    const words = [script('client.mjs'), javascriptClient(), kubeconfig, 'acme'];
    const { stdout } = await run(process.execPath, words);
    t.match(JSON.parse(stdout), {
      listed: ['by-javascript'],
      informed: 'blue',
      watched: ['MODIFIED blue', 'DELETED blue'],
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
      allowed: true,
      refused: REFUSED,
    });
  });
});

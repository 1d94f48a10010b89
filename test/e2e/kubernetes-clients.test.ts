/** Programs in Go, Python and JavaScript work through Stonegate at a real kube-apiserver, each with its usual client. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { kubeconfigOf } from '../support/kubeconfig.ts';
import {
  informer,
  javascriptClient,
  missing,
  missingKubernetes,
  pythonClient,
} from '../support/kubernetes/programs.ts';
import { runInformer } from '../support/kubernetes/run-informer.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';

const CONFIG_MAPS = '/api/v1/namespaces/acme/configmaps';
const REFUSED = /^nodes is forbidden: User "acme:alice" cannot list resource "nodes"/;
const run = promisify(execFile);
const script = (name: string): string =>
  fileURLToPath(new URL(`../support/kubernetes/clients/${name}`, import.meta.url));

t.test('clients', { skip: missingKubernetes() }, async (t) => {
  const folder = t.testdir({});
  const { kubernetes, stonegate, letWork } = await startKubernetesSite(t);
  await letWork('acme', 'acme:alice');
  const token = stonegate.keystoneToken('alice');
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigOf({ url: stonegate.url, ca: stonegate.authority.cert }, { token }));

  await t.test(
    'client-go’s informer, which asks for a WatchList',
    { skip: missing(informer()) },
    async (t) => {
      await kubernetes.create(CONFIG_MAPS, { metadata: { name: 'first' } });
      const informed = runInformer(kubeconfig, 'v1/configmaps', 'acme');
      t.same(await informed.next(), { event: 'added', namespace: 'acme', name: 'first' });
      t.same(await informed.next(), { event: 'synced' });
      await kubernetes.create(CONFIG_MAPS, { metadata: { name: 'second' } });
      t.match(await informed.next(), { event: 'added', name: 'second' });
      await kubernetes.admit('DELETE', `${CONFIG_MAPS}/second`);
      t.match(await informed.next(), { event: 'deleted', name: 'second' });
      await kubernetes.admit('DELETE', `${CONFIG_MAPS}/first`);
      await informed.stop();
    },
  );

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

/**
 * A node of a real kube-apiserver whose kubelet runs commands: `kubectl exec` reaches it through the API
 * server. The commands are those of the stand-in's pods.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/server/server.go (`/exec`)
 */
import { createServer } from 'node:https';
import type { Test } from 'tap';
import { parse } from 'yaml';
import { listen } from '../../../src/server/listen.ts';
import { createPods } from '../apiserver/pods.ts';
import { serveRemote } from '../apiserver/remote-command.ts';
import type { Kubernetes } from '../kubernetes/api-server.ts';

const PATH = /^\/exec\/([^/?]+)\/([^/?]+)\/([^/?]+)/;
/** The kubelet's parameters → those of the API server. */
const FLAGS = { input: 'stdin', output: 'stdout', error: 'stderr', tty: 'tty' } as const;

/** Creates a node and a pod on it. The kubelet ends with the test. */
export async function addRunningPod(
  t: Pick<Test, 'teardown'>,
  kubernetes: Kubernetes,
  namespace: string,
  pod: string,
) {
  const pods = createPods();
  const server = createServer(await kubernetes.authority.server('kubelet'));
  server.on('upgrade', (request, socket, head) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://kubelet');
    const [, inNamespace = '', name = ''] = PATH.exec(pathname) ?? [];
    for (const [own, other] of Object.entries(FLAGS))
      if (searchParams.has(own)) searchParams.set(other, searchParams.get(own) ?? '');
    const place = { tenant: '', group: '', resource: 'pods', namespace: inNamespace, name };
    serveRemote('exec', request, socket, head, searchParams, pods.at(place));
  });
  const { port } = await listen(server, '127.0.0.1:0');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
    pods.close();
  });
  await kubernetes.create(
    '/api/v1/nodes',
    parse(`
    metadata: {name: node}
    status:
      addresses: [{type: InternalIP, address: 127.0.0.1}]
      daemonEndpoints: {kubeletEndpoint: {Port: ${port}}}`),
  );
  await kubernetes.create(
    `/api/v1/namespaces/${namespace}/pods`,
    parse(`
    metadata: {name: ${pod}}
    spec:
      nodeName: node
      automountServiceAccountToken: false
      containers: [{name: web, image: nginx}]`),
  );
}

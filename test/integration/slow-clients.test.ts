/** For clients that do not read, the memory of Stonegate's own watches is bounded, and later released. */
import { once } from 'node:events';
import net from 'node:net';
import t, { type Test } from 'tap';
import { ResponseMemory } from '../../src/limits/response-memory.ts';
import type { RouteHandlers } from '../../src/proxy/feature.ts';
import { serveRequest } from '../../src/proxy/serve-request.ts';
import { allNamespacesSite, podReader } from '../support/all-namespaces.ts';
import { eventually } from '../support/eventually.ts';
import { fakePipeline } from '../support/fake-pipeline.ts';
import { createWatches } from '../support/namespaced-watches.ts';
import { namespacesSite } from '../support/namespaces-site.ts';
import { rule } from '../support/policy-rule.ts';
import { startExchangeServer } from '../support/raw-http/exchange-server.ts';
import { clusterRole, clusterRoleBinding, namespace, user } from '../support/rbac-objects.ts';

const MIB = 1_024 * 1_024;

async function serve(t: Test, handlers: RouteHandlers, perKey: number) {
  const responseMemory = new ResponseMemory({ total: 10 * perKey, perKey });
  const pipeline = fakePipeline({ handlers, responseMemory });
  const server = await startExchangeServer((exchange) => void serveRequest(exchange, pipeline));
  t.teardown(() => server.close());
  async function connect(path: string): Promise<net.Socket> {
    const before = pipeline.streams.size;
    const socket = net.connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token\r\n\r\n`);
    await eventually(() => pipeline.streams.size > before);
    return socket;
  }
  return { connect, responseMemory, streams: pipeline.streams };
}

t.test(
  'a watch of namespaces: the memory for unsent events is bounded, and released with the client',
  async (t) => {
    const rules = [rule('get', 'namespaces')];
    const labels = { big: 'x'.repeat(64 * 1_024) };
    const namespaces = Array.from({ length: 600 }, (_, at) => namespace(`ns-${at + 100}`, { labels }));
    const site = namespacesSite([
      clusterRole('viewer', rules),
      clusterRoleBinding('all', 'ClusterRole/viewer', [user('acme:alice')]),
      ...namespaces,
    ]);
    const { connect, responseMemory, streams } = await serve(t, { namespaces: site.filtered.handle }, MIB);
    const slow = await connect('/api/v1/namespaces?watch=1');
    const other = await connect('/api/v1/namespaces?watch=1&resourceVersion=0');
    other.resume();
    await eventually(() => other.bytesRead > 600 * 64 * 1_024);
    t.ok(
      responseMemory.reserved < MIB,
      'one client reads 40 MB, and the one that does not read uses little memory',
    );
    for (const one of namespaces.slice(0, 5)) site.delete(one);
    t.ok(responseMemory.reserved < MIB, 'changes for it use no more memory');
    slow.resume();
    await eventually(() => slow.bytesRead > 595 * 64 * 1_024);
    t.ok(responseMemory.reserved < MIB, 'when it reads, it gets everything');
    slow.destroy();
    await eventually(() => streams.size === 1);
    t.equal(responseMemory.reserved, 0);
    t.notOk(other.destroyed, 'the client that reads is not affected');
    other.destroy();
    await eventually(() => streams.size === 0);
    t.equal(responseMemory.reserved, 0);
  },
);

t.test(
  'a watch of all namespaces: nothing more is read from the API server for a client that does not read',
  async (t) => {
    const watches = createWatches();
    const site = allNamespacesSite({
      objects: podReader(['a', 'b']),
      changes: { streamer: watches.streamer },
    });
    const { connect, responseMemory, streams } = await serve(t, { 'all-namespaces': site.handle }, MIB);
    const slow = await connect('/api/v1/pods?watch=1&resourceVersion=0');
    await eventually(() => watches.opened.length === 2);
    const line = `{"type":"ADDED","object":{"metadata":{"resourceVersion":"6"},"x":"${'x'.repeat(100_000)}"}}\n`;
    const body = watches.latest('a');
    for (let sent = 0; sent < 400 && body.writableLength < MIB; sent += 1) {
      body.write(line);
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.ok(body.writableLength >= MIB, 'the API server waits');
    slow.destroy();
    await eventually(() => streams.size === 0);
    t.equal(responseMemory.reserved, 0);
    t.ok(watches.areClosed());
  },
);

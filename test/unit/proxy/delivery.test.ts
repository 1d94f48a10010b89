import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import type { RelayHooks, RelayResult } from '../../../src/kubernetes/upstream-ports.ts';
import { ResponseMemory } from '../../../src/limits/response-memory.ts';
import type { ServingStages } from '../../../src/proxy/delivery.ts';
import { serveRequest } from '../../../src/proxy/serve-request.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';
import { alice, fakePipeline } from '../../support/fake-pipeline.ts';
import { tokenScope } from '../../support/token-scope.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** An open watch, and a weak reference to the pipeline that served its request. */
function openWatch(begins: boolean) {
  const { promise: ended, resolve: end } = Promise.withResolvers<RelayResult>();
  const pipeline = fakePipeline({
    forwarder: {
      forward(_request, _exchange, hooks: RelayHooks) {
        if (begins) hooks.onHead(200);
        return ended;
      },
    },
  });
  const { streams, events } = pipeline;
  const headers = [['Authorization', 'Bearer token']] as const;
  const served = serveRequest(fakeExchange({ headers, target: '/api/v1/pods?watch=true' }), pipeline);
  return { served, end, streams, events, reference: new WeakRef(pipeline) };
}

async function isCollected(reference: WeakRef<object>) {
  for (let round = 0; round < 10 && reference.deref() !== undefined; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  return reference.deref() === undefined;
}

t.test('an open watch whose response has begun does not retain its pipeline in memory', async (t) => {
  const { served, end, streams, events, reference } = openWatch(true);
  t.ok(await isCollected(reference));
  t.equal(streams.size, 1, 'the watch is still open');
  end({ status: 200, aborted: false });
  await served;
  t.equal(streams.size, 0);
  t.match(events.at(-1), { stage: 'complete', record: { outcome: { status: 200 } } });
});

t.test(
  'before its response begins, a watch retains its pipeline, to which refusals are reported',
  async (t) => {
    const { served, end, reference } = openWatch(false);
    t.notOk(await isCollected(reference));
    end({ status: 200, aborted: false });
    await served;
  },
);

/** Requests that Stonegate answers itself, from clients that read nothing. */
function answering(bytes: number, perKey: number) {
  const responseMemory = new ResponseMemory({ total: 10 * perKey, perKey });
  const state = { fails: false };
  const pipeline = fakePipeline({
    responseMemory,
    handlers: {
      async forward() {
        if (state.fails) throw new Error('unexpected');
        return { status: 200, headers: [], body: Buffer.alloc(bytes) };
      },
    },
  });
  async function request() {
    const exchange = fakeExchange({ headers: [['Authorization', 'Bearer token']] });
    const response = Object.create(exchange.response, {
      write: { value: () => false },
      onDrain: { value() {} },
    });
    await serveRequest({ ...exchange, response }, pipeline);
    return exchange;
  }
  return { responseMemory, request, state };
}

t.test(
  'Stonegate’s own responses count until they are read; a tenant over its share gets a 429',
  async (t) => {
    const { responseMemory, request, state } = answering(100_000, 250_000);
    const [first, second] = [await request(), await request()];
    t.equal(responseMemory.reserved, 200_000);
    const third = await request();
    t.equal(third.response.status, 429);
    t.match(third.response.json(), { reason: 'TooManyRequests' });
    first.leave();
    t.equal(responseMemory.reserved, 100_000, 'the response of a client that disconnects is released');
    t.equal((await request()).response.status, 200);
    state.fails = true;
    t.equal((await request()).response.status, 500);
    second.leave();
    t.equal(responseMemory.reserved, 100_000);
  },
);

t.test('the hooks of several features are given to the forwarder', async (t) => {
  const onCreated = () => {};
  const onForbidden = () => undefined;
  const pipeline = fakePipeline({
    responseHooks: [() => ({ onCreated }), () => undefined, () => ({ onForbidden })],
  });
  const headers = [['Authorization', 'Bearer token']] as const;
  await serveRequest(fakeExchange({ headers, method: 'POST', target: '/api/v1/namespaces' }), pipeline);
  t.same(
    pipeline.sent.map((request) => [request.onCreated, request.onForbidden]),
    [[onCreated, onForbidden]],
  );
});

/** A request with an access token that may read in the namespace web. */
async function withToken(
  target: string,
  handlers: ServingStages['handlers'] = {},
  exchange: Parameters<typeof fakeExchange>[0] = {},
) {
  const pipeline = fakePipeline({
    handlers,
    authenticators: [
      {
        name: 'access-token',
        authenticate: async () => ({ ...alice, accessToken: tokenScope('namespace/web/read') }),
      },
    ],
  });
  const asked = fakeExchange({ headers: [['Authorization', 'Bearer token']], target, ...exchange });
  await serveRequest(asked, pipeline);
  const { status } = asked.response;
  return { status, text: asked.response.text, sent: pipeline.sent.length + pipeline.tunnelled.length };
}

const FILTERED = { status: 200, headers: [], body: Buffer.from('filtered') };

t.test('with an access token, only requests within its scope are forwarded', async (t) => {
  t.match(await withToken('/api/v1/namespaces/web/pods'), { status: 200, sent: 1 });
  const refused = await withToken('/api/v1/namespaces/shop/pods');
  t.match(refused, { status: 403, sent: 0, text: /in the namespace \\"shop\\": the access token abcd1234/ });
  t.match(refused, { text: /its scopes are namespace\/web\/read/ });
  const socket = new PassThrough();
  const upgrade = { protocol: 'websocket', socket, head: Buffer.alloc(0) };
  const exec = await withToken('/api/v1/namespaces/web/pods/x/exec?command=sh', {}, { upgrade });
  t.match(exec, { status: 403, sent: 0 });
});

t.test('a list that no handler filters is not forwarded beyond the scope', async (t) => {
  for (const target of ['/api/v1/pods', '/api/v1/namespaces']) {
    t.match(await withToken(target), { status: 403, sent: 0 }, `${target} without a handler`);
    const left = async () => undefined;
    const handlers = { namespaces: left, 'all-namespaces': left };
    t.match(await withToken(target, handlers), { status: 403, sent: 0 }, `${target}, left to the API server`);
  }
});

t.test('beyond the scope, the filtered response is sent without asking the API server first', async (t) => {
  const handlers = { 'all-namespaces': async () => ({ insteadOfForbidden: async () => FILTERED }) };
  t.match(await withToken('/api/v1/pods', handlers), { status: 200, sent: 0, text: 'filtered' });
  const without = { 'all-namespaces': async () => ({ insteadOfForbidden: async () => undefined }) };
  t.match(await withToken('/api/v1/pods', without), { status: 403, sent: 0 });
});

t.test('handlers that do not filter by the scope are called only for requests within it', async (t) => {
  const handlers = { forward: async () => FILTERED, 'all-namespaces': async () => FILTERED };
  t.match(await withToken('/api/v1/pods', handlers), { status: 200, text: 'filtered' });
  t.match(await withToken('/api/v1/nodes/x', handlers), { status: 403 });
});

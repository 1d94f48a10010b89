/**
 * Traces, as an operator reads them at a collector: what a request did, with whom Stonegate spoke for it, and
 * nothing about the objects that it was for.
 */
import t, { type Test } from 'tap';
import { type CollectedSpan, type Collector, startCollector } from '../support/otlp-collector.ts';
import { isForClient } from '../support/own-questions.ts';
import { startStonegate } from '../support/stonegate.ts';

const SECRET = '/api/v1/namespaces/default/secrets/payroll?fieldManager=hidden';
const PODS = '/api/v1/namespaces/default/pods';
const GIVEN = { traceID: '0af7651916cd43dd8448eb211c80319c', parentID: 'b7ad6b7169203331' };
const traceparent = (flags: string) => ({
  traceparent: `00-${GIVEN.traceID}-${GIVEN.parentID}-${flags}`,
  tracestate: 'other=1',
});

interface Setup {
  readonly samplingRatio?: number;
  /** Whether the test's own address is that of a trusted proxy. */
  readonly isTrusted?: boolean;
  readonly endpoint?: string;
}

async function setUp(t: Test, { samplingRatio = 1, isTrusted = false, endpoint }: Setup = {}) {
  const collector = await startCollector(t);
  const stonegate = await startStonegate(t, {
    configuration: {
      traces: { endpoint: endpoint ?? collector.endpoint, samplingRatio },
      server: { trustedProxies: isTrusted ? ['127.0.0.0/8'] : [] },
    },
  });
  return {
    ...{ collector, stonegate, token: stonegate.keystoneToken('alice') },
    /** The `traceparent` and `tracestate` of clients' requests at the API server. */
    received: () =>
      stonegate.apiServer.requests
        .filter(isForClient)
        .map(({ headers }) => [headers.traceparent, headers.tracestate]),
  };
}

/** Each span as its path from the root, in order of their begin. */
function treeOf({ spans }: Collector): string[] {
  const pathOf = (span: CollectedSpan): string => {
    const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
    return parent === undefined ? span.name : `${pathOf(parent)} > ${span.name}`;
  };
  return spans.map(pathOf);
}

const rootOf = ({ spans }: Collector) => spans.find(({ kind }) => kind === 2);

t.test('a request is a span, with its stages and its calls to backends below it', async (t) => {
  const { collector, stonegate, token, received } = await setUp(t);
  const { status } = await stonegate.ask(token, PODS);
  t.equal(status, 200);
  const [, event] = await stonegate.audited();
  const [sent] = received();
  await stonegate.close();
  const GET = 'GET list pods';
  const expected = [
    GET,
    `${GET} > authenticate`,
    `${GET} > authenticate > keystone`,
    ...['resolveTenant', 'provision', 'actAs', 'authorize', 'admit', 'limit'].map(
      (stage) => `${GET} > ${stage}`,
    ),
    `${GET} > forward`,
    `${GET} > forward > upstream`,
  ];
  t.same(
    treeOf(collector).filter((path) => path.startsWith(GET)),
    expected,
  );
  const root = rootOf(collector);
  t.match(root?.attributes, {
    'http.request.method': 'GET',
    'http.response.status_code': '200',
    'url.scheme': 'https',
    'k8s.request.verb': 'list',
    'k8s.request.resource': 'pods',
    'stonegate.tenant': 'acme',
    'stonegate.audit_id': event?.auditID,
  });
  t.match(collector.resource, { 'service.name': 'stonegate' });
  const upstream = collector.spans.find(({ name }) => name === 'upstream');
  t.same(
    sent,
    [`00-${root?.traceId}-${upstream?.spanId}-01`, undefined],
    'the API server continues the trace',
  );
  for (const { startTimeUnixNano, endTimeUnixNano } of collector.spans)
    t.ok(startTimeUnixNano <= endTimeUnixNano && startTimeUnixNano >= (root?.startTimeUnixNano ?? ''));
});

t.test('spans name no object, query, user or credential, and nothing of someone unknown', async (t) => {
  const { collector, stonegate, token } = await setUp(t);
  await stonegate.ask(token, SECRET);
  await stonegate.ask('gAAAA-no-token', '/apis/strange.example/v1/namespaces/default/oddities');
  await stonegate.close();
  t.match(
    collector.spans.filter(({ kind }) => kind === 2).map(({ name }) => name),
    ['GET get secrets', 'GET'],
  );
  for (const text of ['payroll', 'hidden', 'default', 'alice', 'strange', 'oddities', 'no-token', token])
    for (const post of collector.posts) t.notMatch(post, text);
});

t.test('a refusal has its code, and a failure of a backend is an error', async (t) => {
  const { collector, stonegate, token } = await setUp(t);
  await stonegate.keystone.down();
  t.equal((await stonegate.ask(token, PODS)).status, 503);
  await stonegate.close();
  t.match(rootOf(collector), {
    attributes: { 'error.type': 'KeystoneUnavailable', 'stonegate.error_code': 'KeystoneUnavailable' },
    status: { code: 2 },
  });
  t.match(
    collector.spans.find(({ name }) => name === 'keystone'),
    { status: { code: 2 }, attributes: { 'error.type': 'error' } },
  );
});

t.test('without sampling nothing is sent, and the API server learns of the decision', async (t) => {
  const { collector, stonegate, token, received } = await setUp(t, { samplingRatio: 0 });
  await stonegate.ask(token, PODS);
  const [sent = []] = received();
  await stonegate.close();
  t.same(collector.posts, []);
  t.match(sent[0], /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
});

t.test('a client chooses neither the trace nor its sampling', async (t) => {
  const { collector, stonegate, token, received } = await setUp(t, { samplingRatio: 0 });
  await stonegate.ask(token, PODS, { headers: traceparent('01') });
  const [sent = []] = received();
  await stonegate.close();
  t.same(collector.posts, []);
  t.notMatch(sent[0], GIVEN.traceID);
  t.equal(sent[1], undefined, 'nor what other systems are told');
});

t.test("a trusted proxy's trace is continued, and its decision followed", async (t) => {
  const { collector, stonegate, token, received } = await setUp(t, { samplingRatio: 0, isTrusted: true });
  await stonegate.ask(token, PODS, { headers: traceparent('01') });
  await stonegate.ask(token, PODS, { headers: traceparent('00') });
  const [sampled = [], unsampled = []] = received();
  await stonegate.close();
  t.match(rootOf(collector), { traceId: GIVEN.traceID, parentSpanId: GIVEN.parentID, traceState: 'other=1' });
  t.equal(collector.spans.filter(({ kind }) => kind === 2).length, 1);
  t.match(sampled, [new RegExp(`^00-${GIVEN.traceID}-(?!${GIVEN.parentID}).{16}-01$`), 'other=1']);
  t.match(unsampled, [new RegExp(`^00-${GIVEN.traceID}-.{16}-00$`), 'other=1']);
});

t.test('requests do not depend on the collector', async (t) => {
  const { stonegate, token } = await setUp(t, { endpoint: 'http://127.0.0.1:1/v1/traces' });
  t.equal((await stonegate.ask(token, PODS)).status, 200);
  const { metrics } = stonegate.app;
  await stonegate.close();
  t.match(await metrics.text(), /stonegate_spans_total\{result="failed"\} [1-9]/);
});

t.test("without the section the client's headers pass as they are", async (t) => {
  const stonegate = await startStonegate(t);
  await stonegate.ask(stonegate.keystoneToken('alice'), PODS, { headers: traceparent('01') });
  const [request] = stonegate.apiServer.requests.filter(isForClient);
  t.match(request?.headers, traceparent('01'));
});

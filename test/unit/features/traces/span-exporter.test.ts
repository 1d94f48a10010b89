import t, { type Test } from 'tap';
import { parse } from 'yaml';
import type { Span } from '../../../../src/features/traces/span.ts';
import { BATCH, QUEUE, SpanExporter } from '../../../../src/features/traces/span-exporter.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { startCollector } from '../../../support/otlp-collector.ts';

const SPAN: Span = {
  traceID: '0af7651916cd43dd8448eb211c80319c',
  spanID: 'b7ad6b7169203331',
  parentID: '00f067aa0ba902b7',
  state: 'congo=t61rcWkgMzE',
  name: 'GET list pods',
  kind: 'server',
  startedAt: 1_795_910_400_000.25,
  endedAt: 1_795_910_400_012,
  attributes: { 'http.request.method': 'GET', 'http.response.status_code': 503 },
  isError: true,
};

async function start(t: Test) {
  const collector = await startCollector(t);
  const clock = createFakeClock();
  const counted = new Map<string, number>();
  const warnings: string[] = [];
  const exporter = new SpanExporter({
    collector: { endpoint: collector.endpoint, headers: { authorization: 'Bearer x' } },
    resource: { 'service.name': 'stonegate' },
    clock,
    logger: {
      debug() {},
      error() {},
      info: (_, text) => warnings.push(text),
      warn: (_, text) => warnings.push(text),
    },
    telemetry: {
      ...noTelemetry,
      count: (_counter, labels, amount = 1) => {
        const [result = ''] = Object.values(labels);
        counted.set(result, (counted.get(result) ?? 0) + amount);
      },
    },
  });
  return { collector, clock, exporter, warnings, counts: () => Object.fromEntries(counted) };
}

t.test('a span arrives as the protocol describes it', async (t) => {
  const { collector, exporter, counts } = await start(t);
  exporter.add([SPAN]);
  await exporter.flush();
  t.same(
    JSON.parse(collector.posts[0] ?? ''),
    parse(`
    resourceSpans:
    - resource: {attributes: [{key: service.name, value: {stringValue: stonegate}}]}
      scopeSpans:
      - scope: {name: stonegate}
        spans:
        - traceId: 0af7651916cd43dd8448eb211c80319c
          spanId: b7ad6b7169203331
          parentSpanId: 00f067aa0ba902b7
          traceState: congo=t61rcWkgMzE
          name: GET list pods
          kind: 2
          startTimeUnixNano: '1795910400000250000'
          endTimeUnixNano: '1795910400012000000'
          attributes:
          - {key: http.request.method, value: {stringValue: GET}}
          - {key: http.response.status_code, value: {intValue: '503'}}
          status: {code: 2}`),
  );
  t.equal(collector.spans.length, 1, 'a strict receiver decodes it');
  t.match(collector.headers, { authorization: 'Bearer x', 'content-type': 'application/json' });
  t.same(counts(), { exported: 1 });
});

t.test('spans wait for others, but not for more than a batch', async (t) => {
  const { collector, clock, exporter } = await start(t);
  exporter.add([SPAN]);
  exporter.add([SPAN]);
  t.equal(clock.untilNext, 5_000);
  clock.advance(5_000);
  await exporter.flush();
  t.equal(collector.posts.length, 1);
  exporter.add(Array.from({ length: BATCH + 1 }, () => SPAN));
  await exporter.flush();
  t.equal(collector.posts.length, 3, 'a full batch and the rest');
  t.equal(collector.spans.length, BATCH + 3);
  t.equal(clock.pending, 0);
});

t.test('spans beyond the queue are lost and counted', async (t) => {
  const { collector, exporter, counts } = await start(t);
  exporter.add(Array.from({ length: QUEUE }, () => SPAN));
  exporter.add(Array.from({ length: QUEUE }, () => SPAN));
  await exporter.flush();
  t.same(counts(), { full: QUEUE, exported: QUEUE });
  t.equal(collector.spans.length, QUEUE);
});

t.test('spans that the collector does not take are lost and counted, and logged once', async (t) => {
  const { collector, exporter, warnings, counts } = await start(t);
  collector.status = 503;
  for (const _ of [1, 2]) {
    exporter.add([SPAN]);
    await exporter.flush();
  }
  t.same(counts(), { failed: 2 });
  t.equal(warnings.length, 1);
  collector.status = 200;
  exporter.add([SPAN]);
  await exporter.flush();
  t.same(counts(), { failed: 2, exported: 1 });
  t.match(warnings[1], /again/);
});

t.test(
  'at the end a collector that takes nothing gets one batch, and the rest is lost at once',
  async (t) => {
    const { collector, exporter, counts } = await start(t);
    collector.status = 503;
    exporter.add(Array.from({ length: QUEUE }, () => SPAN));
    await exporter.close();
    t.same(counts(), { failed: QUEUE });
    t.ok(collector.posts.length <= 2, `${collector.posts.length} posts`);
  },
);

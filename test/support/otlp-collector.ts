/**
 * A collector of traces on loopback. It decodes what OTLP/HTTP in JSON allows and nothing else: field names
 * and forms of `ExportTraceServiceRequest`, IDs in hexadecimal and 64-bit integers as decimal strings.
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import { z } from 'zod';

const attributes = z.array(
  z.strictObject({
    key: z.string().min(1),
    value: z.xor([
      z.strictObject({ stringValue: z.string() }),
      z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
    ]),
  }),
);
const nanoseconds = z.string().regex(/^\d{19}$/);
const span = z.strictObject({
  traceId: z.string().regex(/^(?!0+$)[0-9a-f]{32}$/),
  spanId: z.string().regex(/^(?!0+$)[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .exactOptional(),
  traceState: z.string().exactOptional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes,
  status: z.strictObject({ code: z.int().min(0).max(2) }).exactOptional(),
});
const exportRequest = z.strictObject({
  resourceSpans: z
    .array(
      z.strictObject({
        resource: z.strictObject({ attributes }),
        scopeSpans: z.array(
          z.strictObject({ scope: z.strictObject({ name: z.string() }), spans: z.array(span) }),
        ),
      }),
    )
    .length(1),
});

export interface CollectedSpan extends Omit<z.output<typeof span>, 'attributes'> {
  readonly attributes: Readonly<Record<string, string>>;
}

export interface Collector {
  readonly endpoint: string;
  /** The bodies of all posts. */
  readonly posts: readonly string[];
  readonly spans: readonly CollectedSpan[];
  /** Of the last post. */
  readonly resource: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  /** The HTTP status of each response; 200 at first. */
  status: number;
}

function valuesOf(list: z.output<typeof attributes>): Record<string, string> {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, 'intValue' in value ? value.intValue : value.stringValue]),
  );
}

export async function startCollector(t: Pick<Test, 'teardown'>): Promise<Collector> {
  const posts: string[] = [];
  const spans: CollectedSpan[] = [];
  let resource: Record<string, string> = {};
  let headers: IncomingHttpHeaders = {};
  const server = createServer(async (request, response) => {
    const body = await text(request);
    posts.push(body);
    headers = request.headers;
    const isPost = request.method === 'POST' && request.url === '/v1/traces';
    const read = exportRequest.safeParse(JSON.parse(body));
    const isRead = isPost && read.success && headers['content-type'] === 'application/json';
    response.writeHead(isRead ? collector.status : 400, { 'content-type': 'application/json' });
    response.end('{}');
    if (!isRead) return;
    for (const { resource: of, scopeSpans } of read.data.resourceSpans) {
      resource = valuesOf(of.attributes);
      for (const one of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...one, attributes: valuesOf(one.attributes) });
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the collector does not listen');
  const collector: Collector = {
    endpoint: `http://127.0.0.1:${address.port}/v1/traces`,
    posts,
    spans,
    get resource() {
      return resource;
    },
    get headers() {
      return headers;
    },
    status: 200,
  };
  return collector;
}

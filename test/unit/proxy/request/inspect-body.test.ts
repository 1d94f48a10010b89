/**
 * Bodies that an admission plugin inspects: what the plugin sees, what is forwarded, and what is refused
 * unread.
 */
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { ReviewPathOf } from '../../../../src/kubernetes/review-paths.ts';
import { type Clock, systemClock } from '../../../../src/lib/clock.ts';
import { type HeaderField, type HeaderList, headerValues } from '../../../../src/lib/header-list.ts';
import { ByteBudget, type ByteBudgetOptions } from '../../../../src/limits/byte-budget.ts';
import type { BodyRule, InspectedBody, UserResponse } from '../../../../src/proxy/body-rule.ts';
import { createBodyInspection } from '../../../../src/proxy/request/inspect-body.ts';
import { serveRequest } from '../../../../src/proxy/serve-request.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { eventually } from '../../../support/eventually.ts';
import { type FakeExchange, fakeExchange } from '../../../support/fake-exchange.ts';
import { fakePipeline } from '../../../support/fake-pipeline.ts';
import { fakeFetcher } from '../../../support/outgoing.ts';
import { encodeObject } from '../../../support/protobuf.ts';

const bearer = ['Authorization', 'Bearer secret-token'] as const;
const acme = toTenantName('acme');
const PROTOBUF = [['Content-Type', 'application/vnd.kubernetes.protobuf']] as const;

interface Options {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: HeaderList;
  readonly body?: string | Buffer;
  readonly exchange?: FakeExchange;
  readonly admission?: Partial<BodyRule>;
  readonly convertsProtobuf?: boolean;
  readonly memory?: ByteBudgetOptions;
  readonly clock?: Clock;
  readonly reviewPathOf?: ReviewPathOf;
  readonly upstream?: Parameters<typeof fakeFetcher>[0];
}

/** Sends a request whose body one plugin sees. */
async function send(options: Options = {}) {
  const { method = 'POST', target = '/api/v1/namespaces/ns/things', headers = [], body = '{}' } = options;
  const seen: InspectedBody[] = [];
  const memory = new ByteBudget(options.memory ?? { total: 1e6, perKey: 1e6 });
  const fetcher = fakeFetcher(options.upstream ?? (() => new Error('nothing is asked')));
  const pipeline = fakePipeline({
    bodies: createBodyInspection({
      rules: [
        {
          maxBytes: 1000,
          formats: new Set(['object', 'json-patch', 'merge-patch', 'strategic-merge-patch']),
          appliesTo: ({ resource }) => resource === 'things',
          admit(inspected) {
            seen.push(inspected);
            return undefined;
          },
          ...options.admission,
        },
      ],
      reviewPathOf: options.reviewPathOf,
      convertsProtobuf: options.convertsProtobuf ?? true,
      memory,
      ownBodyBytes: 1000,
      fetcher,
      clock: options.clock ?? systemClock,
      bodyTimeout: 10_000,
    }),
  });
  const exchange =
    options.exchange ??
    fakeExchange({
      method,
      target,
      body,
      headers: [bearer, ['Content-Length', String(Buffer.byteLength(body))], ...headers],
    });
  await serveRequest(exchange, pipeline);
  const [sent] = pipeline.sent;
  return { exchange, response: exchange.response, sent, seen, asked: fetcher.asked, memory };
}

t.test('the plugin sees the parsed body, and exactly the same bytes are forwarded', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 3 }), fc.boolean(), async (value, spaced) => {
      const body = JSON.stringify(value, undefined, spaced ? 1 : undefined);
      const { sent, seen } = await send({ body, admission: { maxBytes: 1e6 } });
      t.strictSame(seen, [{ format: 'object', content: JSON.parse(body) }]);
      t.equal(sent?.body?.toString(), body);
    }),
  );
});

t.test('what the plugin returns is forwarded in place of the body', async (t) => {
  const admit = async ({ content }: InspectedBody) => ({ was: content });
  const { sent } = await send({ body: '{"a":1}', admission: { admit } });
  t.equal(sent?.body?.toString(), '{"was":{"a":1}}');
});

t.test('a plugin that throws refuses the request, and nothing is forwarded', async (t) => {
  const admit = () => {
    throw new StatusError('AccessDenied', 'no');
  };
  const { response, sent } = await send({ admission: { admit } });
  t.match(response.json(), { code: 403, message: 'no' });
  t.equal(sent, undefined);
});

t.test('the body of any other request is not read', async (t) => {
  for (const request of [
    { target: '/api/v1/namespaces/ns/others' },
    { method: 'GET', target: '/api/v1/namespaces/ns/things' },
    { method: 'DELETE', target: '/api/v1/namespaces/ns/things/x' },
    { target: '/things' },
  ]) {
    const { sent, seen } = await send({ ...request, body: 'no JSON' });
    t.strictSame(seen, []);
    t.notOk(sent && 'body' in sent);
  }
});

t.test(
  'the body of a write that is also reviewed at a webhook is read before it is sent, in any format',
  async (t) => {
    const target = '/api/v1/namespaces/ns/others/x';
    const reviewPathOf: ReviewPathOf = (_method, { resource }) =>
      resource === 'others' ? '/admission/core/others/update' : undefined;
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const { sent, seen } = await send({ method, target, body: 'no JSON', reviewPathOf });
      t.equal(sent?.body?.toString(), 'no JSON', method);
      t.strictSame(seen, []);
    }
    const memory = { total: 1e6, perKey: 10 };
    const refused = await send({ method: 'PUT', target, body: 'more than ten', reviewPathOf, memory });
    t.match(refused.response.json(), { code: 429 });
    t.ok(refused.memory.reservation(acme).resize(10), 'the memory of the body is released');
  },
);

for (const [type, format] of [
  ['application/json-patch+json', 'json-patch'],
  ['application/merge-patch+json', 'merge-patch'],
  ['application/strategic-merge-patch+json', 'strategic-merge-patch'],
] as const)
  t.test(`a PATCH of type ${type} is inspected as such`, async (t) => {
    const headers = [['content-type', `${type}; charset=utf-8`]] as const;
    const { sent, seen } = await send({ method: 'PATCH', headers });
    t.strictSame(seen, [{ format, content: {} }]);
    t.strictSame(headerValues(sent?.headers ?? [], 'content-type'), [type]);
  });

t.test('YAML is forwarded as the JSON that was inspected', async (t) => {
  const headers = [['Content-Type', 'application/yaml']] as const;
  const { sent, seen } = await send({ headers, body: 'a: {b: [1, yes, "x"]}\n__proto__: null\n' });
  t.equal(sent?.body?.toString(), '{"a":{"b":[1,"yes","x"]},"__proto__":null}');
  t.strictSame(headerValues(sent?.headers ?? [], 'content-type'), ['application/json']);
  t.equal(JSON.stringify(seen[0]?.content), sent?.body?.toString());
});

for (const [what, body] of [
  ['a key twice', 'a: 1\na: 2\n'],
  ['two documents', 'a: 1\n---\na: 2\n'],
  ['an alias', 'a: &x 1\nb: *x\n'],
  ['a key that is not a string', '1: a\n'],
  ['a number that would be rounded', 'a: 9223372036854775807\n'],
] as const)
  t.test(`YAML with ${what} is refused`, async (t) => {
    const { response, sent } = await send({ headers: [['Content-Type', 'application/yaml']], body });
    t.match(response.json(), { code: 400, details: { causes: [{ message: 'BodyMalformed' }] } });
    t.equal(sent, undefined);
  });

for (const [what, request] of [
  ['protobuf of a kind that is not built in', { headers: PROTOBUF, body: encodeObject('v1', 'Thing', []) }],
  ['a PATCH in protobuf', { method: 'PATCH', headers: PROTOBUF }],
  ['CBOR', { headers: [['Content-Type', 'application/cbor']] }],
  ['a compressed body', { headers: [['Content-Encoding', 'gzip']] }],
  [
    'two types',
    {
      headers: [
        ['Content-Type', 'application/json'],
        ['content-type', 'application/vnd.kubernetes.protobuf'],
      ],
    },
  ],
  ['a PATCH without a type', { method: 'PATCH' }],
  ['server-side apply', { method: 'PATCH', headers: [['Content-Type', 'application/apply-patch+yaml']] }],
  [
    'a patch that the plugin cannot read',
    {
      method: 'PATCH',
      headers: [['Content-Type', 'application/json-patch+json']],
      admission: { formats: new Set(['object']) },
    },
  ],
] as const satisfies readonly (readonly [string, Options])[])
  t.test(`${what}: 415, and nothing is forwarded`, async (t) => {
    const { response, sent, seen } = await send(request);
    t.match(response.json(), { code: 415, reason: 'UnsupportedMediaType' });
    t.strictSame([sent, seen], [undefined, []]);
  });

const CONFIG_MAP = encodeObject('v1', 'ConfigMap', [
  [1, [[1, 'typed']]],
  [
    2,
    [
      [1, 'a'],
      [2, 'b'],
    ],
  ],
]);
const OPTIONS = encodeObject('v1', 'DeleteOptions', [[4, 'Orphan']]);

for (const [what, request, json] of [
  [
    'that a plugin sees',
    {},
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"typed"},"data":{"a":"b"}}',
  ],
  [
    'of any kind',
    { target: '/api/v1/namespaces/ns/configmaps' },
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"typed"},"data":{"a":"b"}}',
  ],
  [
    'of a deletion',
    { method: 'DELETE', target: '/api/v1/namespaces/ns/things/x', body: OPTIONS },
    '{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan"}',
  ],
] as const satisfies readonly (readonly [string, Options, string])[])
  t.test(`protobuf ${what} is forwarded as JSON`, async (t) => {
    const { sent, seen } = await send({ headers: PROTOBUF, body: CONFIG_MAP, ...request });
    t.equal(sent?.body?.toString(), json);
    t.strictSame(headerValues(sent?.headers ?? [], 'content-type'), ['application/json']);
    if (seen.length > 0) t.equal(JSON.stringify(seen[0]?.content), json);
  });

t.test('protobuf is forwarded as it came to an API server that reads it, and to a workload', async (t) => {
  const target = '/api/v1/namespaces/ns/configmaps';
  for (const request of [
    { target, convertsProtobuf: false },
    { target: '/api/v1/namespaces/ns/pods/web/proxy/upload' },
  ]) {
    const { sent } = await send({ headers: PROTOBUF, body: CONFIG_MAP, ...request });
    t.notOk(sent && 'body' in sent);
    t.strictSame(headerValues(sent?.headers ?? [], 'content-type'), ['application/vnd.kubernetes.protobuf']);
  }
});

t.test('a deletion with the type protobuf and an empty body is forwarded', async (t) => {
  const request = { method: 'DELETE', target: '/api/v1/namespaces/ns/things/x', headers: PROTOBUF, body: '' };
  t.equal((await send(request)).sent?.body?.toString(), '');
});

for (const [what, type, body, code] of [
  ['JSON of 40,000 values', 'application/json', `[${'1,'.repeat(40_000)}1]`, 400],
  ['YAML of 8 KiB', 'application/yaml', ' '.repeat(8_193), 413],
] as const)
  t.test(`more than ${what} would hold the thread for too long: ${code}`, async (t) => {
    const admission = { maxBytes: 1e6 };
    const { response, sent } = await send({ headers: [['Content-Type', type]], body, admission });
    t.match(response.json(), { code });
    t.equal(sent, undefined);
  });

t.test('protobuf that is too large as JSON is refused with 413', async (t) => {
  const body = encodeObject('v1', 'ConfigMap', [[2, [[2, '\u0001'.repeat(600_000)]]]]);
  const memory = { total: 1e7, perKey: 1e7 };
  const { response, sent } = await send({ headers: PROTOBUF, body, memory, target: '/api/v1/configmaps' });
  t.match(response.json(), { code: 413 });
  t.equal(sent, undefined);
});

for (const [what, body] of [
  ['no JSON', '{'],
  ['a key twice', '{"a":1,"a":2}'],
  ['nothing', ''],
] as const)
  for (const headers of [[], PROTOBUF])
    t.test(`a body with ${what}, sent as ${headers[0]?.[1] ?? 'JSON'}: 400`, async (t) => {
      const { response, sent } = await send({ headers, body });
      t.match(response.json(), { code: 400, reason: 'BadRequest' });
      t.equal(sent, undefined);
    });

t.test('a body declared longer than the plugin reads is refused with 413, unread', async (t) => {
  const body = new PassThrough();
  const headers = [bearer, ['Content-Length', '1001']] as const;
  const exchange = { ...fakeExchange({ method: 'POST', target: '/api/v1/things', headers }), body };
  const { response } = await send({ exchange });
  t.match(response.json(), { code: 413 });
});

t.test('a body that turns out to be longer is refused with 413', async (t) => {
  const body = JSON.stringify('x'.repeat(1000));
  const headers = [bearer, ['Transfer-Encoding', 'chunked']] as const;
  const exchange = fakeExchange({ method: 'POST', target: '/api/v1/things', headers, body });
  const { response } = await send({ exchange });
  t.match(response.json(), { code: 413 });
});

t.test('a body that does not arrive is refused with 408', async (t) => {
  const exchange = {
    ...fakeExchange({ method: 'POST', target: '/api/v1/things', headers: [bearer] }),
    body: new PassThrough(),
  };
  const after: Clock['after'] = (milliseconds, callback) => {
    if (milliseconds === 10_000) queueMicrotask(callback);
    return { cancel() {} };
  };
  const { response } = await send({ exchange, clock: { now: () => 0, monotonic: () => 0, after } });
  t.match(response.json(), { code: 408 });
});

t.test(
  'a tenant that uses too much memory gets a 429, and memory is released at the end of each request',
  async (t) => {
    const memory = { total: 1e6, perKey: 10 };
    const { response } = await send({ memory, body: '{"much":"too much"}' });
    t.match(response.json(), { code: 429 });
    for (const body of ['{"a":123}', '{"a":bad}']) {
      const served = await send({ memory, body });
      t.ok(served.memory.reservation(acme).resize(10));
    }
  },
);

t.test('a plugin reads the stored object as the user', async (t) => {
  const answers: UserResponse[] = [];
  const bodies = [{ kind: 'Thing' }, 'no JSON'];
  const { asked } = await send({
    headers: [
      ['Accept', 'application/yaml'],
      ['Content-Encoding', 'identity'],
    ],
    upstream: () => ({ status: 200, body: bodies.shift() }),
    admission: {
      async admit(_, { readStored }) {
        answers.push(await readStored(), await readStored());
      },
    },
  });
  t.strictSame(answers, [
    { status: 200, content: { kind: 'Thing' } },
    { status: 200, content: undefined },
  ]);
  t.match(asked, [{ method: 'GET', account: { kind: 'tenant', tenant: 'acme' } }, { method: 'GET' }]);
  for (const { headers } of asked) {
    t.strictSame(headerValues(headers, 'impersonate-user'), ['acme:alice']);
    t.strictSame(headerValues(headers, 'accept'), ['application/json']);
    t.strictSame(headerValues(headers, 'content-encoding'), []);
  }
});

t.test('the bodies that handlers read count against their tenant until the handlers are done', async (t) => {
  const memory = new ByteBudget({ total: 1_000, perKey: 150 });
  const done = Promise.withResolvers<void>();
  const pipeline = fakePipeline({
    bodies: createBodyInspection({
      ...{ rules: [], convertsProtobuf: false, memory, ownBodyBytes: 100 },
      ...{
        fetcher: fakeFetcher(() => new Error('nothing is asked')),
        clock: systemClock,
        bodyTimeout: 10_000,
      },
    }),
    handlers: {
      async forward() {
        await done.promise;
        return { status: 200, headers: [], body: Buffer.from('{}') };
      },
    },
  });
  const ask = async (method: string, ...length: HeaderField[]) => {
    const exchange = fakeExchange({ method, headers: [bearer, ...length] });
    await serveRequest(exchange, pipeline);
    return exchange.response.status;
  };
  const chunked = ask('POST', ['Transfer-Encoding', 'chunked']);
  await eventually(() => memory.reserved === 100);
  t.equal(await ask('POST', ['Content-Length', '60']), 429);
  const others = [ask('POST', ['Content-Length', '40']), ask('GET', ['Content-Length', '60']), ask('POST')];
  await eventually(() => memory.reserved === 140);
  done.resolve();
  t.same(await Promise.all([chunked, ...others]), [200, 200, 200, 200]);
  t.equal(memory.reserved, 0);
});

/** Objects in Kubernetes' protobuf, and the JSON that they stand for. */
import fc from 'fast-check';
import t from 'tap';
import { decodeObject } from '../../../src/kubernetes/kubernetes-protobuf.ts';
import { isJSONObject } from '../../../src/lib/json-object.ts';
import { asGoReads, KUBECTL_REQUESTS } from '../../support/kubectl-protobuf.ts';
import { encodeObject, type Message } from '../../support/protobuf.ts';

for (const { command, body, object } of KUBECTL_REQUESTS)
  t.test(`${command} sends the object that it prints`, async (t) =>
    t.strictSame(asGoReads(decodeObject(body)), asGoReads(object)),
  );

/** A message with the value at this path of field numbers. */
const at = (value: Message[number][1], ...path: number[]): Message => {
  const [number = 0, ...inner] = path;
  return [[number, inner.length === 0 ? value : at(value, ...inner)]];
};
const decodePod = (...fields: Message) => decodeObject(encodeObject('v1', 'Pod', fields));
const decodeMetadata = (...metadata: Message) => decodePod([1, metadata])?.metadata;
const decodeSpec = (...spec: Message) => decodePod([2, spec])?.spec;

t.test('empty values are present or absent as in the JSON that Go writes', async (t) => {
  t.strictSame(decodePod(), {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {},
    spec: { containers: null },
    status: {},
  });
  t.strictSame(decodeSpec([4, 0], [11, 0]), { containers: null, terminationGracePeriodSeconds: 0 });
  t.strictSame(decodeSpec([2, []]), { containers: [{ name: '', resources: {} }] });
});

t.test(
  'the zero time of Go is left out, and a key may have the name of an inherited object member',
  async (t) => {
    t.strictSame(decodeMetadata([8, [[1, -62_135_596_800]]]), {});
    const { data: read } = decodeObject(encodeObject('v1', 'Secret', at('__proto__', 2, 1))) ?? {};
    t.equal(JSON.stringify(read), '{"__proto__":""}');
  },
);

t.test('a byte order mark is part of a text', async (t) =>
  t.strictSame(decodeMetadata([1, '\uFEFFa\u{1F600}']), { name: '\uFEFFa\u{1F600}' }),
);

t.test('fields that Kubernetes does not have are dropped', async (t) =>
  t.strictSame(decodeMetadata([1, 'web'], [999, 'x'], [998, 1]), { name: 'web' }),
);

t.test('a kind that is not built in is not decoded', async (t) => {
  for (const [apiVersion, kind] of [
    ['v1', 'Gadget'],
    ['v9', 'Pod'],
    ['__proto__', 'constructor'],
  ] as const)
    t.equal(decodeObject(encodeObject(apiVersion, kind, [])), undefined, `${apiVersion} ${kind}`);
});

const pod = (...message: Message) => encodeObject('v1', 'Pod', message);
/** With their empty fields they are some 44,000 values. */
const containers = Array.from({ length: 4_000 }, () => [2, []] as const);

for (const [what, body, message] of [
  ['JSON', Buffer.from('{"kind":"Pod"}'), 'provided data does not appear to be a protobuf message'],
  ['no kind', encodeObject('v1', '', []), "Object 'Kind' is missing"],
  ['a number for a text', pod(...at(7, 1, 1)), 'proto: wrong wireType = 0 for field name'],
  ['a text for a number', pod(...at('x', 2, 4)), /^proto: wrong wireType = 2/],
  ['a truncated end', pod(...at('web', 1, 1)).subarray(0, -9), /^proto: cannot parse/],
  ['text that is not UTF-8', pod(...at(new Uint8Array([255]), 1, 1)), /^proto: cannot parse/],
  ['a number beyond 2^53', pod(...at(2n ** 53n, 2, 4)), /^a number is beyond 2/],
  ['a year beyond 9999', pod(...at(2 ** 50, 1, 8, 1)), 'a time is out of range'],
  ['an embedded value that is not JSON', pod(...at('{', 1, 17, 7, 1)), 'it is not JSON'],
  [
    'JSON with a number beyond 2^53',
    encodeObject('apps/v1', 'ControllerRevision', at('[9007199254740993]', 2, 1)),
    /^a number is beyond 2/,
  ],
  ['very many values in few bytes', pod([2, containers]), 'it holds too many values'],
] as const)
  t.test(`${what} is refused`, async (t) =>
    t.throws(() => decodeObject(body), { name: 'SyntaxError', message }),
  );

t.test('C243 any bytes are an object, an object of a kind that is not built in, or refused', async () => {
  const bodies = fc.constantFrom(...KUBECTL_REQUESTS.map(({ body }) => body));
  const damaged = fc.tuple(bodies, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }), fc.nat());
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 80 }),
    fc.uint8Array({ maxLength: 80 }).map((raw) => encodeObject('v1', 'Pod', [[2, raw]])),
    damaged.map(([whole, changes, length]) => {
      const body = Buffer.from(whole);
      for (const [at, byte] of changes) body[at % body.length] = byte;
      return body.subarray(0, Math.max(1, length % (2 * body.length)));
    }),
  );
  fc.assert(
    fc.property(anything, (body) => {
      try {
        const object = decodeObject(body);
        return object === undefined || isJSONObject(JSON.parse(JSON.stringify(object)));
      } catch (error) {
        return error instanceof SyntaxError;
      }
    }),
    { numRuns: 2_000 },
  );
});

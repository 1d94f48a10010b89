import t from 'tap';
import type { HeaderList } from '../../../../src/lib/header-list.ts';
import { withAcceptedTypes } from '../../../../src/proxy/request/accepted-types.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';

const LIST = '/api/v1/namespaces/default/pods';
const WATCH = `${LIST}?watch=1`;
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const OWN = { protobuf: 'asJSON', watchEvents: 'filtered' } as const;
const OPEN = { protobuf: 'asItIs', watchEvents: 'asTheyAre' } as const;

const sent = (target: string, headers: HeaderList, mode: typeof OWN | typeof OPEN = OWN) =>
  withAcceptedTypes(headers, readRequestInfo('GET', target, { hasTenantsInPaths: true }), mode);
const accepts = (...values: string[]) => values.map((value) => ['Accept', value] as const);

t.test('protobuf is removed from the types that a client accepts; the others stay', async (t) => {
  for (const [given, left] of [
    [`${PROTOBUF},application/json`, 'application/json'],
    [`${PROTOBUF}, */*`, '*/*'],
    [`application/json;q=0.5, ${PROTOBUF};q=0.9`, 'application/json;q=0.5'],
    [
      `${PROTOBUF};as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io`,
      'application/json;as=Table;v=v1;g=meta.k8s.io',
    ],
    [`Application/VND.kubernetes.Protobuf ;stream=watch, application/yaml`, 'application/yaml'],
    [`application / vnd.kubernetes.protobuf, application/json`, 'application/json'],
    [`application/json;x=",${PROTOBUF},"`, 'application/json;x=", "'],
  ] as const)
    t.same(sent(LIST, accepts(given)), accepts(left), given);
  t.same(
    sent(LIST, accepts(PROTOBUF, 'application/json')),
    accepts('application/json'),
    'protobuf is removed from several fields',
  );
  const others = accepts('application/json, application/com.github.proto-openapi.spec.v2@v1.0+protobuf');
  t.equal(sent(LIST, others), others, 'headers without protobuf are unchanged');
});

t.test('a client that accepts only protobuf is told which types are available', async (t) => {
  t.throws(() => sent(LIST, accepts(PROTOBUF)), {
    code: 'NotAcceptable',
    message: 'only the following media types are accepted: application/json, application/yaml',
  });
  t.throws(() => sent(WATCH, accepts(`${PROTOBUF};stream=watch`)), { code: 'NotAcceptable' });
});

t.test('a watch is requested in JSON and without compression', async (t) => {
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  for (const [given, left] of [
    [[], 'application/json'],
    [['*/*'], 'application/json'],
    [['application/*;q=0.1'], 'application/json'],
    [[`${PROTOBUF};stream=watch, ${table}, application/json`], `${table}, application/json`],
    [['application/yaml', 'application/json;stream=watch'], 'application/json;stream=watch'],
    [[''], 'application/json'],
  ] as const)
    t.same(
      sent(WATCH, [['X', 'y'], ...accepts(...given), ['accept-encoding', 'gzip']]),
      [['X', 'y'], ...accepts(left)],
      given.join(' | '),
    );
  for (const given of ['application/yaml', 'text/plain', 'application/cbor', 'application/jsonx'])
    t.throws(() => sent(WATCH, accepts(given)), { code: 'NotAcceptable' }, given);
  t.same(sent('/api/v1/watch/secrets/mine', accepts('*/*')), accepts('application/json'));
});

t.test(
  'headers are unchanged for paths that are not resources, and for a server without these faults',
  async (t) => {
    const headers = accepts(PROTOBUF);
    t.equal(sent('/openapi/v2', headers), headers);
    t.equal(sent(`${LIST}/web/proxy/metrics`, headers), headers, 'a workload has types of its own');
    t.equal(sent(LIST, headers, OPEN), headers);
    t.equal(sent(WATCH, headers, OPEN), headers);
  },
);

/** What the API server's 201 says of a new namespace. */
import t from 'tap';
import {
  CreatedNamespaces,
  createdRevision,
} from '../../../../src/features/namespaces/created-namespaces.ts';
import { encodeObject, type Message } from '../../../support/protobuf.ts';
import { linesOf } from '../../../support/rows.ts';

const json = (metadata: unknown): Buffer => Buffer.from(JSON.stringify({ kind: 'Namespace', metadata }));

t.test('the revision is that of the object, or of the Table that shows it', async (t) => {
  t.equal(createdRevision(json({ name: 'e', resourceVersion: '4711' })), 4711);
  const table = '{"kind":"Table","metadata":{"resourceVersion":"12"},"rows":[{"cells":["e"]}]}';
  t.equal(createdRevision(Buffer.from(table)), 12);
});

t.test('the revision of an object in protobuf is read too', async (t) => {
  const metadata: Message = [
    [1, 'e'],
    [6, '4711'],
  ];
  const body = encodeObject('v1', 'Namespace', [[1, metadata]]);
  t.equal(createdRevision(body), 4711);
  t.equal(createdRevision(body.subarray(0, body.length - 8)), undefined, 'cut off');
});

t.test('a response without a valid revision gives nothing to wait for', async (t) => {
  for (const metadata of linesOf(`
    {"name":"dry-run"}
    {"resourceVersion":""}
    {"resourceVersion":"0"}
    {"resourceVersion":"x1"}
    {"resourceVersion":7}
    {"resourceVersion":"${'9'.repeat(30)}"}
    null`))
    t.equal(createdRevision(json(JSON.parse(metadata))), undefined, metadata);
  for (const body of ['null', 'kind: Namespace\n', ''])
    t.equal(createdRevision(Buffer.from(body)), undefined, body);
});

t.test(
  'one list waits for the last namespace that its user has created, and later lists do not',
  async (t) => {
    const namespaces = new CreatedNamespaces();
    for (const revision of [4, 6, 5]) namespaces.created('acme', 'alice', revision);
    namespaces.shown('acme', 'alice', 4);
    t.equal(namespaces.revisionOf('acme', 'alice'), 6, 'another was created while the list waited');
    t.equal(namespaces.revisionOf('globex', 'alice'), 0);
    namespaces.shown('acme', 'alice', 6);
    t.equal(namespaces.revisionOf('acme', 'alice'), 0);
  },
);

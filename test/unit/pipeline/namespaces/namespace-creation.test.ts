/** What the API server's 201 says of a new namespace. */
import t from 'tap';
import { createdRevision } from '../../../../src/pipeline/namespaces/namespace-creation.ts';

const json = (metadata: unknown): Buffer => Buffer.from(JSON.stringify({ kind: 'Namespace', metadata }));

t.test('the revision is that of the object, or of the table about it', async (t) => {
  t.equal(createdRevision(json({ name: 'e', resourceVersion: '4711' })), 4711);
  const table = { kind: 'Table', metadata: { resourceVersion: '12' }, rows: [{ cells: ['e'] }] };
  t.equal(createdRevision(Buffer.from(JSON.stringify(table))), 12);
});

t.test('protobuf is read too', async (t) => {
  // runtime.Unknown with `raw`: a Namespace whose ObjectMeta has name "e" and resourceVersion "4711".
  const metadata = Buffer.from([0x0a, 1, 0x65, 0x32, 4, ...Buffer.from('4711')]);
  const raw = Buffer.from([0x0a, metadata.length, ...metadata, 0x12, 0]);
  const body = Buffer.from([...Buffer.from('k8s\0'), 0x0a, 0, 0x12, raw.length, ...raw]);
  t.equal(createdRevision(body), 4711);
  t.equal(createdRevision(body.subarray(0, body.length - 4)), undefined, 'cut off');
});

t.test('a response that names no revision is none: there is nothing to wait for', async (t) => {
  for (const body of [
    json({ name: 'dry-run' }),
    json({ resourceVersion: '' }),
    json({ resourceVersion: '0' }),
    json({ resourceVersion: 'x1' }),
    json({ resourceVersion: 7 }),
    json({ resourceVersion: '9'.repeat(30) }),
    json(null),
    Buffer.from('null'),
    Buffer.from('kind: Namespace\n'),
    Buffer.alloc(0),
  ])
    t.equal(createdRevision(body), undefined, body.toString());
});

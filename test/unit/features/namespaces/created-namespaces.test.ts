/** What the API server's 201 says of a new namespace. */
import t from 'tap';
import { createdRevision } from '../../../../src/features/namespaces/created-namespaces.ts';
import { encodeObject } from '../../../support/protobuf.ts';

const json = (metadata: unknown): Buffer => Buffer.from(JSON.stringify({ kind: 'Namespace', metadata }));

t.test('the revision is that of the object, or of the Table that shows it', async (t) => {
  t.equal(createdRevision(json({ name: 'e', resourceVersion: '4711' })), 4711);
  const table = { kind: 'Table', metadata: { resourceVersion: '12' }, rows: [{ cells: ['e'] }] };
  t.equal(createdRevision(Buffer.from(JSON.stringify(table))), 12);
});

t.test('protobuf is read too', async (t) => {
  const body = encodeObject('v1', 'Namespace', [
    [
      1,
      [
        [1, 'e'],
        [6, '4711'],
      ],
    ],
  ]);
  t.equal(createdRevision(body), 4711);
  t.equal(createdRevision(body.subarray(0, body.length - 8)), undefined, 'cut off');
});

t.test('a response without a valid revision gives nothing to wait for', async (t) => {
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

/** How namespaces are written, and what is made once for all clients. */
import t from 'tap';
import { atRevision, eventText } from '../../../../src/access/namespaces/namespace-form.ts';
import { namespace } from '../../../support/rbac-objects.ts';

const context = { form: { kind: 'objects' }, now: 0, hasTenants: false } as const;

t.test('a deletion is made once for all watches that tell it', async (t) => {
  const deleted = namespace('a');
  const told = atRevision(deleted, 90_000);
  t.equal(atRevision(deleted, 90_000), told);
  t.equal(told.revision, 90_000);
  t.match(JSON.parse(told.json), { metadata: { name: 'a', resourceVersion: '90000' } });
  t.match(JSON.parse(atRevision(deleted, 90_001).json), { metadata: { resourceVersion: '90001' } });
});

t.test('characters are escaped as Go does', async (t) => {
  const annotated = { ...namespace('a'), json: JSON.stringify({ x: '<a>&$&\u2028\u2029$1' }) };
  t.equal(
    eventText('ADDED', annotated, true, context),
    '{"type":"ADDED","object":{"x":"\\u003ca\\u003e\\u0026$\\u0026\\u2028\\u2029$1"}}\n',
  );
});

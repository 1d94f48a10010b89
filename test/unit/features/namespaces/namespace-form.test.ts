/** How namespaces are written. */
import t from 'tap';
import { eventText } from '../../../../src/features/namespaces/namespace-form.ts';
import { namespace } from '../../../support/rbac-objects.ts';

const context = { form: { kind: 'objects' }, now: 0, hasTenants: false } as const;

t.test('characters are escaped as Go does', async (t) => {
  const annotated = { ...namespace('a'), json: JSON.stringify({ x: '<a>&$&\u2028\u2029$1' }) };
  t.equal(
    eventText('ADDED', annotated, true, context),
    '{"type":"ADDED","object":{"x":"\\u003ca\\u003e\\u0026$\\u0026\\u2028\\u2029$1"}}\n',
  );
});

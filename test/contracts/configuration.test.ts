/**
 * The configuration's fields: each path with its type, default and allowed values, without the descriptions.
 */
import t from 'tap';
import { jsonSchema } from '../../scripts/configuration-reference.ts';
import { asJSON, sameAsRecorded } from './recorded.ts';

t.test('the JSON Schema of the configuration', async (t) => {
  const schema: unknown = JSON.parse(jsonSchema(), (key, value) =>
    key === 'description' && typeof value === 'string' ? undefined : value,
  );
  sameAsRecorded(t, 'configuration.json', asJSON(schema));
});

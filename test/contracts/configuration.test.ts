/**
 * The fields of the configuration: the path, type, default and allowed values of each, without the
 * descriptions.
 */
import t from 'tap';
import { jsonSchema } from '../../scripts/configuration-reference.ts';
import { asJSON, sameAsRecorded } from './recorded.ts';

t.test('the JSON Schema of the configuration is as recorded', async (t) => {
  const schema: unknown = JSON.parse(jsonSchema(), (key, value) =>
    key === 'description' && typeof value === 'string' ? undefined : value,
  );
  sameAsRecorded(t, 'configuration.json', asJSON(schema));
});

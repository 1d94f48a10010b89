import t from 'tap';
import { matchesPattern } from '../../../../src/features/publishing/publishing-configuration.ts';

import { eachRow } from '../../../support/rows.ts';

t.test('a name is published if it matches the whole pattern', async (t) => {
  await eachRow(
    `
    shared        | shared              | true
    shared-*      | shared-ca           | true
    *.example.com | widgets.example.com | true
    a*a           | aa                  | true
    shared        | shared-ca           | false
    shared-*      | my-shared-ca        | false
    a*a           | a                   | false`,
    (pattern, name, matches) => t.equal(String(matchesPattern(pattern, name)), matches, `${pattern} ${name}`),
  );
});

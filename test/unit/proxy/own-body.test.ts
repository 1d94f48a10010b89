import t from 'tap';
import { isDryRun } from '../../../src/proxy/own-body.ts';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';

const TEAMS = '/apis/stonegate.dev/v1alpha1/teams';

t.test('a dry run has the one value that the API server knows; any other changes nothing', (t) => {
  const asked = (query: string, inBody: readonly string[] = [], method = 'POST') =>
    isDryRun(readRequestInfo(method, `${TEAMS}${query}`, { hasTenantsInPaths: false }), inBody);
  t.equal(asked(''), false);
  t.equal(asked('?dryRun=All'), true);
  t.equal(asked('', ['All']), true);
  for (const query of ['?dryRun=', '?dryRun', '?dryRun=None', '?dryRun=all', '?dryRun=All&dryRun=x'])
    t.throws(() => asked(query), {
      code: 'ObjectInvalid',
      message: 'CreateOptions is invalid: dryRun: Unsupported value: supported values: "All"',
    });
  t.throws(() => asked('/web', ['None'], 'DELETE'), { message: /^DeleteOptions is invalid/ });
  t.end();
});

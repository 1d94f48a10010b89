/** Options of lists and watches that Stonegate answers: read, and refused, as the API server does. */
import t from 'tap';
import { readListOptions } from '../../../../src/kubernetes/lists/list-options.ts';

t.test('a request without options gets the defaults', async (t) =>
  t.same(readListOptions('', 'list'), {
    labelSelector: '',
    fieldSelector: '',
    limit: 0,
    continue: '',
    resourceVersion: '0',
    resourceVersionMatch: '',
    timeoutSeconds: undefined,
    allowWatchBookmarks: false,
    sendInitialEvents: undefined,
  }),
);

t.test('each parameter may be given once', async (t) => {
  for (const name of ['labelSelector', 'limit', 'watch', 'pretty', 'includeObject', 'allowWatchBookmarks'])
    t.throws(() => readListOptions(`${name}=1&${name}=1`, 'list'), {
      code: 'RequestMalformed',
      message: `the query has the parameter ${name} more than once`,
    });
  t.equal(readListOptions('other=1&other=2', 'list').limit, 0, 'an unknown parameter may be repeated');
});

t.test('a continued list has the revision of its first page', async (t) => {
  for (const query of ['continue=x', 'continue=x&resourceVersion=0', 'continue=x&resourceVersion='])
    t.equal(readListOptions(query, 'list').continue, 'x', query);
  t.throws(() => readListOptions('continue=x&resourceVersion=7', 'list'), {
    code: 'RequestMalformed',
    message: 'specifying resource version is not allowed when using continue',
  });
});

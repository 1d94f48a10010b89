/** The options of lists and watches that Stonegate answers: the API server's reading, in its words. */
import t from 'tap';
import { readListOptions } from '../../../../src/kubernetes/lists/list-options.ts';

t.test('a request without options has none', async (t) => {
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
  });
});

t.test('each parameter may be given once', async (t) => {
  for (const name of ['labelSelector', 'limit', 'watch', 'pretty', 'includeObject', 'allowWatchBookmarks'])
    t.throws(() => readListOptions(`${name}=1&${name}=1`, 'list'), {
      code: 'RequestMalformed',
      message: `the query has the parameter ${name} more than once`,
    });
  t.equal(readListOptions('other=1&other=2', 'list').limit, 0, 'one that the API server does not know');
});

t.test('a limit is a number of at least nothing that a number can hold', async (t) => {
  for (const [text, limit] of [
    ['5', 5],
    ['-5', 0],
    ['', 0],
    ['9223372036854775807', Number.MAX_SAFE_INTEGER],
  ] as const)
    t.equal(readListOptions(`limit=${text}`, 'list').limit, limit, text);
  t.throws(() => readListOptions('limit=9223372036854775808', 'list'), { message: /value out of range/ });
});

t.test('a continued list has the revision of its beginning', async (t) => {
  for (const query of ['continue=x', 'continue=x&resourceVersion=0', 'continue=x&resourceVersion='])
    t.equal(readListOptions(query, 'list').continue, 'x', query);
  t.throws(() => readListOptions('continue=x&resourceVersion=7', 'list'), {
    code: 'RequestMalformed',
    message: 'specifying resource version is not allowed when using continue',
  });
});

t.test('which options go together depends on the verb', async (t) => {
  const WATCH_LIST = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  t.equal(readListOptions(WATCH_LIST, 'watch').sendInitialEvents, true);
  t.throws(() => readListOptions(WATCH_LIST, 'list'), { code: 'ListOptionsInvalid', http: 422 });
  t.throws(() => readListOptions('sendInitialEvents=true', 'watch'), { code: 'ListOptionsInvalid' });
  t.throws(() => readListOptions('continue=x', 'watch'), { code: 'ListOptionsInvalid' });
  t.equal(readListOptions('resourceVersion=7&resourceVersionMatch=Exact', 'list').resourceVersion, '7');
});

/** The messages are those of `ValidateListOptions` in k8s.io/apimachinery v0.36.3 with the feature off. */
import t from 'tap';
import { watchListAdmission } from '../../../../src/features/admission/watch-list.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';

const PODS = '/api/v1/namespaces/default/pods';

const admit = (target: string): void =>
  watchListAdmission(
    { method: 'GET', headers: [] },
    readRequestInfo('GET', target, { hasTenantsInPaths: true }),
  );

t.test('a watch that begins with a list is refused, as by a server without the feature', async (t) => {
  for (const options of ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan', 'sendInitialEvents'])
    t.throws(() => admit(`${PODS}?watch=1&${options}`), {
      code: 'ListOptionsInvalid',
      message:
        'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
      details: { group: 'meta.k8s.io', kind: 'ListOptions' },
    });
});

t.test('other watches, and lists, are left to the API server', async () => {
  admit(`${PODS}?watch=1&allowWatchBookmarks=true&resourceVersion=5`);
  admit(`${PODS}?resourceVersion=5&resourceVersionMatch=NotOlderThan`);
  admit(`${PODS}/web?watch=1&sendInitialEvents=true`);
  admit('/version?watch=1&sendInitialEvents=true');
});

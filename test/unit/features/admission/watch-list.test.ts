/** The words are those of `ValidateListOptions` in k8s.io/apimachinery v0.36.3 with the feature off. */
import t from 'tap';
import { watchListAdmission } from '../../../../src/features/admission/watch-list.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';

const PODS = '/api/v1/namespaces/default/pods';
const OFF =
  'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
const NEEDS =
  'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
const ALONE =
  'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
const OTHER = 'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"';
const CONTINUED =
  'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided';

const admit = (target: string): void =>
  watchListAdmission.admit(
    { method: 'GET', headers: [] },
    readRequestInfo('GET', target, { readsTenantFromPath: true }),
  );

for (const [options, words] of [
  ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true', OFF],
  ['sendInitialEvents=false&resourceVersionMatch=NotOlderThan', OFF],
  ['sendInitialEvents=true', `[${NEEDS}, ${OFF}]`],
  ['sendInitialEvents', `[${NEEDS}, ${OFF}]`],
  ['sendInitialEvents=true&resourceVersionMatch=Exact', `[${NEEDS}, ${OFF}, ${OTHER}]`],
  ['resourceVersionMatch=NotOlderThan', ALONE],
  ['resourceVersionMatch=Exact', `[${ALONE}, ${OTHER}]`],
  ['resourceVersionMatch=NotOlderThan&continue=x', `[${ALONE}, ${CONTINUED}]`],
] as const)
  t.test(`a watch with ${options} is refused as by a server without the feature`, async (t) => {
    t.throws(() => admit(`${PODS}?watch=1&${options}`), {
      code: 'ListOptionsInvalid',
      message: `ListOptions.meta.k8s.io "" is invalid: ${words}`,
      details: { group: 'meta.k8s.io', kind: 'ListOptions' },
    });
  });

t.test('other watches, and lists, are the API server’s business', async () => {
  admit(`${PODS}?watch=1&allowWatchBookmarks=true&resourceVersion=5`);
  admit(`${PODS}?watch=1&resourceVersionMatch=`);
  admit(`${PODS}?resourceVersion=5&resourceVersionMatch=NotOlderThan`);
  admit(`${PODS}/web?watch=1&sendInitialEvents=true`);
  admit('/version?watch=1&sendInitialEvents=true');
});

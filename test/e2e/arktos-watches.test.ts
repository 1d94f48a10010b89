/**
 * A watch in arktos mode shows what the user may see and nothing else. Arktos adds a bookmark with a whole
 * object of any tenant to watches of one secret, or of one node's pods; the stand-in does as the recorded
 * server did.
 */
import t from 'tap';
import { openRequest } from '../support/open-request.ts';
import { startStonegate } from '../support/stonegate.ts';

const SECRETS = '/api/v1/namespaces/default/secrets';
const ONE = 'fieldSelector=metadata.name%3Dmine&watch=1&timeoutSeconds=1';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const ROBOT = 'system:serviceaccount:default:robot';

const stonegate = await startStonegate(t, { configuration: { authentication: { tokenReview: {} } } });
const { apiServer, ask, keystoneToken } = stonegate;
const { seed } = apiServer;
const hidden = (owner: string) => ({ data: { owner: Buffer.from(owner).toString('base64') } });
seed.object('v1/secrets', 'mine', hidden('acme'), { tenant: 'acme' });
seed.clusterRoleBinding('robots', 'worker', [`user:${ROBOT}`], { tenant: 'acme' });
const robot = seed.serviceAccountToken({ name: 'robot', tenant: 'acme' });
const alice = keystoneToken('alice');
// The bookmark contains the object that changed last.
seed.object('v1/secrets', 'theirs', hidden('globex'), { tenant: 'globex' });
seed.pod('theirs', { tenant: 'globex' });

/** The API server's own response to the service account, without Stonegate. */
function unfiltered(path: string, accept: string) {
  const full = path.replace(/^(\/api\/v1\/(?:watch\/)?)/, '$1tenants/acme/');
  const server = { port: apiServer.port, ca: stonegate.authority.cert };
  return openRequest(server, robot, full, { headers: { accept } }).answered;
}

for (const [what, path, accept] of [
  ['in JSON', `${SECRETS}?${ONE}`, 'application/json'],
  ['in any form', `${SECRETS}?${ONE}&resourceVersion=0`, '*/*'],
  ['as a table', `${SECRETS}?${ONE}`, `${TABLE},application/json`],
  ['as metadata', `${SECRETS}?${ONE}`, PARTIAL],
  ['in protobuf first', `${SECRETS}?${ONE}`, `${PROTOBUF};stream=watch,application/json`],
  ['of all namespaces', `/api/v1/secrets?${ONE}`, 'application/json'],
  ['without bookmarks', `${SECRETS}?${ONE}&allowWatchBookmarks=false`, 'application/json'],
  ['in the path form', `/api/v1/watch/namespaces/default/secrets/mine?timeoutSeconds=1`, 'application/json'],
  ['of pods', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&watch=1&timeoutSeconds=1', 'application/json'],
] as const)
  t.test(`a watch ${what} shows nothing of other tenants`, async (t) => {
    // Each watch lasts a second.
    const [direct, ...filtered] = await Promise.all([
      unfiltered(path, accept),
      ...[alice, robot].map((token) => ask(token, path, { headers: { accept } })),
    ]);
    t.match(direct.body, /BOOKMARK[\s\S]*theirs/, 'the API server itself shows an object of another tenant');
    for (const { status, body, headers } of filtered) {
      t.equal(status, 200);
      t.equal(headers['content-type'], 'application/json');
      t.match(body, '"type":"ADDED"', 'the object of their own tenant is shown');
      t.notMatch(body, /BOOKMARK|theirs|globex/);
    }
  });

t.test('an ambiguous watch parameter is refused', async (t) => {
  for (const watch of ['watch=%ff', 'watch=1%ff', 'x=1;watch=1', 'watch=%', 'watch=fal%C5%BFe']) {
    const { status, body } = await ask(alice, `${SECRETS}?fieldSelector=metadata.name%3Dmine&${watch}`);
    t.equal(status, 400, watch);
    t.notMatch(body, /BOOKMARK|theirs/);
  }
});

t.test('a client that accepts only protobuf gets a 406', async (t) => {
  for (const path of [SECRETS, `${SECRETS}/mine`, `${SECRETS}?${ONE}`]) {
    const { status, json } = await ask(alice, path, { headers: { accept: PROTOBUF } });
    t.equal(status, 406, path);
    t.match(json(), { reason: 'NotAcceptable', message: /^only the following media types are accepted: / });
  }
  const { headers } = await ask(alice, SECRETS, { headers: { accept: `${PROTOBUF},application/json` } });
  t.equal(headers['content-type'], 'application/json');
});

t.test(
  'an informer that requests its list as a watch gets the error that makes it list instead',
  async (t) => {
    const { status, json } = await ask(
      alice,
      `${SECRETS}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
    );
    t.equal(status, 422);
    t.match(json(), { reason: 'Invalid', details: { group: 'meta.k8s.io', kind: 'ListOptions' } });
  },
);

t.test('an unknown method is refused with the list of allowed methods', async (t) => {
  const { status, headers } = await ask(alice, SECRETS, { method: 'PROPFIND' });
  t.equal(status, 405);
  t.equal(headers.allow, 'GET, HEAD, POST, PUT, PATCH, DELETE');
});

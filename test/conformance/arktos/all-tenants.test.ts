/**
 * Watches over all tenants: the stand-in sends the events that a real Arktos sent, and the reader of the RBAC
 * index parses both.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import { readEvent } from '../../../src/kubernetes/list-watch.ts';
import { createRBACReader } from '../../../src/rbac/read-rbac-object.ts';
import { createApiServer } from '../../support/apiserver/api-server.ts';

interface Event {
  readonly type: string;
  readonly object: Readonly<Record<string, unknown>>;
}

function recorded(name: string): readonly Event[] {
  const file = new URL(`recorded-all-tenants/${name}.json`, import.meta.url);
  const exchange: { response: { body: Event[] } } = JSON.parse(readFileSync(file, 'utf8'));
  return exchange.response.body;
}

/** Leaves out what differs between runs, and `selfLink`, which not every build of Arktos sends. */
function comparable(events: readonly Event[]): unknown {
  return JSON.parse(JSON.stringify(events), (key, value) => {
    if (key === 'selfLink') return undefined;
    return ['uid', 'hashKey', 'resourceVersion', 'creationTimestamp'].includes(key) ? typeof value : value;
  });
}

const ROLE_BINDINGS = '/apis/rbac.authorization.k8s.io/v1/tenants/all/rolebindings';
const IN_GLOBEX = '/apis/rbac.authorization.k8s.io/v1/tenants/globex/namespaces/default/rolebindings';

t.test('watches over all tenants', async (t) => {
  const token = 'administrator';
  const server = await createApiServer({
    flavour: 'arktos',
    tokens: { [token]: { username: 'administrator', groups: ['system:masters'] } },
  });
  t.teardown(() => server.close());
  server.seed.tenant('globex');
  const ask = (method: string, path: string, body?: object) =>
    fetch(`${server.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  const eventsOf = async (query: string): Promise<Event[]> =>
    (await (await ask('GET', `${ROLE_BINDINGS}?watch=1&${query}`)).text())
      .split('\n')
      .filter((line) => line !== '')
      .map((line): Event => JSON.parse(line));
  const before = server.cluster.store.revision;
  await ask(
    'POST',
    IN_GLOBEX,
    parse(`
    metadata: {name: w1}
    subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: globex:x}]
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}`),
  );
  await ask('PATCH', `${IN_GLOBEX}/w1`, { metadata: { labels: { a: 'b' } } });
  await ask('DELETE', `${IN_GLOBEX}/w1`);

  await t.test('events are the same as those of a real server, and name the tenant', async (t) => {
    const events = await eventsOf(`resourceVersion=${before}&timeoutSeconds=1`);
    t.same(comparable(events), comparable(recorded('all-watch-rolebindings')));
  });

  await t.test('a watch from a compacted revision gets the status 200 and an error event', async (t) => {
    server.cluster.store.compact();
    const [event] = await eventsOf('resourceVersion=1');
    const numberless = (text: unknown) => JSON.stringify(text).replace(/\d+ \(\d+\)/, 'N (N)');
    t.equal(numberless(event), numberless(recorded('all-watch-too-old')[0]));
    t.match(
      t.throws(() => readEvent(Buffer.from(JSON.stringify(event)))),
      { status: 410 },
    );
  });
});

t.test('the RBAC index reads the events that a real server sent', async (t) => {
  const reader = createRBACReader({ inTenants: true });
  const read = recorded('all-watch-rolebindings').map((sent) => {
    const event = readEvent(Buffer.from(JSON.stringify(sent)));
    if (event?.kind !== 'put' && event?.kind !== 'delete') throw new Error('no change of an object');
    return [event.kind, reader.read('rolebindings', event.object)];
  });
  t.match(
    read,
    parse(`
    - [put, {tenant: globex, namespace: default, name: w1, revision: 670}]
    - [put, {revision: 671, roleRef: {kind: ClusterRole, name: viewer}}]
    - [delete, {revision: 672, subjects: [{kind: User, name: globex:x}]}]`),
  );
});

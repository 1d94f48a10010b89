import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { type Binding, KINDS } from '../../../src/kubernetes/kubernetes-object.ts';
import { createObjects } from '../../../src/kubernetes/objects.ts';
import type { UpstreamFetcher } from '../../../src/kubernetes/upstream-ports.ts';
import { STONEGATE_ACCOUNT } from '../../../src/kubernetes/upstream-request.ts';
import { TooLarge } from '../../../src/limits/byte-budget.ts';

type Fetched = Parameters<UpstreamFetcher['fetch']>[0];
type Answer = { readonly status: number; readonly body: unknown };

const { signal } = new AbortController();
const listAll = (objects: ReturnType<typeof createObjects>) =>
  objects.list(KINDS.Namespace, {}, '', signal, (object) => object);

/** Returns these responses in turn, and records the requests. */
function setUp(...answers: Answer[]) {
  const asked: Fetched[] = [];
  const fetcher: UpstreamFetcher = {
    async fetch(request) {
      asked.push(request);
      const answer = answers.shift();
      if (answer === undefined) throw new Error('nothing more was expected');
      const body = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
      return { status: answer.status, headers: [], body: Buffer.from(body) };
    },
  };
  const targets = () => asked.map(({ method, target }) => `${method} ${target}`);
  const objects = createObjects(fetcher, STONEGATE_ACCOUNT);
  const create = () => objects.create(KINDS.RoleBinding, { namespace: 'web' }, binding, signal);
  return { objects, create, asked, targets };
}

const binding: Binding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'b', namespace: 'web', uid: 'u1', resourceVersion: '7' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' },
  subjects: [],
};
const list = (items: unknown, next?: string) => ({
  status: 200,
  body: { kind: 'NamespaceList', items, metadata: next === undefined ? {} : { continue: next } },
});
const status = (code: number, reason: string, message = 'no') => ({
  status: code,
  body: { kind: 'Status', code, reason, message },
});

t.test('a name cannot change the path of a request', async (t) => {
  const { objects, targets } = setUp(status(404, 'NotFound'));
  await objects.get(KINDS.ClusterRole, {}, 'stonegate:read/../x', signal);
  t.same(targets(), ['GET /apis/rbac.authorization.k8s.io/v1/clusterroles/stonegate:read%2F..%2Fx']);
  await t.rejects(objects.get(KINDS.Namespace, {}, '..', signal), RangeError);
});

t.test('a list is read to its last page, and its members get the kind that lists leave out', async (t) => {
  const { objects, targets } = setUp(
    list([{ metadata: { name: 'a' } }], 'next&page'),
    list([{ metadata: { name: 'b' } }]),
  );
  const found = await listAll(objects);
  t.match(found, [
    { kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'a' } },
    { kind: 'Namespace', metadata: { name: 'b' } },
  ]);
  t.match(targets()[1], /continue=next%26page$/);
});

t.test('objects so large that a page of them exceeds the limit are still listed', async (t) => {
  const sizes = Array.from({ length: 60 }, (_, at) => (at > 20 && at < 40 ? 900 : 1));
  const pages: number[] = [];
  const fetcher: UpstreamFetcher = {
    async fetch({ target }) {
      const query = new URLSearchParams(target.split('?')[1]);
      const limit = Number(query.get('limit'));
      const from = Number(query.get('continue') ?? '0');
      const page = sizes.slice(from, from + limit);
      if (page.reduce((sum, size) => sum + size, 0) > 2_000)
        throw new StatusError('UpstreamUnavailable', 'no', { cause: new TooLarge() });
      pages.push(limit);
      const items = page.map((_, at) => ({ metadata: { name: `n${from + at}` } }));
      const end = from + limit;
      const metadata = end < sizes.length ? { continue: String(end) } : {};
      return {
        status: 200,
        headers: [],
        body: Buffer.from(JSON.stringify({ kind: 'NamespaceList', items, metadata })),
      };
    },
  };
  const found = await listAll(createObjects(fetcher, STONEGATE_ACCOUNT));
  t.same(
    found.map(({ metadata }) => metadata.name),
    sizes.map((_, at) => `n${at}`),
  );
  t.ok(
    pages.some((limit) => limit <= 2) && (pages.at(-1) ?? 0) > 2,
    'after the large objects, pages grow again',
  );
});

t.test('a list whose revision has expired is restarted, a few times', async (t) => {
  const first = list([{ metadata: { name: 'a' } }], 'more');
  const gone = status(410, 'Expired');
  const again = setUp(first, gone, list([{ metadata: { name: 'c' } }]));
  t.match(await listAll(again.objects), [{ metadata: { name: 'c' } }]);
  const never = setUp(first, gone, first, gone, first, gone);
  await t.rejects(listAll(never.objects), {
    code: 'UpstreamUnavailable',
  });
});

t.test('unknown fields of an object are preserved', async (t) => {
  const body = {
    ...binding,
    metadata: { ...binding.metadata, ownerReferences: [{ name: 'x' }] },
    subjects: null,
  };
  const { objects } = setUp({ status: 200, body });
  const found = await objects.get(KINDS.RoleBinding, { namespace: 'web' }, 'b', signal);
  t.match(found, { metadata: { ownerReferences: [{ name: 'x' }] }, subjects: null });
});

t.test('an incomplete response is never taken for an empty cluster', async (t) => {
  const answers: Answer[] = [
    { status: 200, body: 'no JSON' },
    { status: 200, body: { kind: 'List' } },
    { status: 307, body: {} },
    status(500, 'InternalError'),
    list([{ metadata: {} }]),
    list([{ apiVersion: 'v2', metadata: { name: 'a' } }]),
  ];
  for (const answer of answers) {
    const { objects } = setUp(answer);
    await t.rejects(listAll(objects), { code: 'UpstreamUnavailable' }, JSON.stringify(answer));
  }
});

t.test('what the API server forbids is reported in its own words', async (t) => {
  const { create } = setUp(status(403, 'Forbidden', 'attempt to grant extra privileges'));
  const refused = create();
  await t.rejects(refused, {
    code: 'ProvisioningForbidden',
    message: /`stonegate manifests rbac --config FILE --provisioner`/,
    cause: { message: /attempt to grant/ },
  });
});

t.test('a refusal is reported in the API server’s own words, not as an unavailable server', async (t) => {
  const words = 'clusterroles.rbac.authorization.k8s.io "stonegate:edit" not found';
  const { create } = setUp(status(404, 'NotFound', words));
  await t.rejects(create(), {
    code: 'ProvisioningRefused',
    message: 'the API server refuses what provisioning asks for',
    cause: { message: `create /apis/rbac.authorization.k8s.io/v1/namespaces/web/rolebindings: ${words}` },
  });
});

t.test('a refusal of a webhook or a quota is reported as such, not as a missing right', async (t) => {
  const full = 'exceeded quota: acme, requested: namespaces=1, used: namespaces=2, limited: namespaces=2';
  for (const message of [
    `admission webhook "quota.stonegate.dev" denied the request: ${full}`,
    'admission webhook "labels.example.com" denied the request: a team is required',
    `configmaps "settings" is forbidden: ${full}`,
  ]) {
    const refused = setUp(status(403, 'Forbidden', message)).create();
    const error = await refused.catch((thrown: unknown) => thrown);
    t.match(error, { code: 'ProvisioningRefused' }, message);
    t.ok(String(Object(error).cause).endsWith(message));
  }
});

t.test('an existing object of the same name is not a failure; any other conflict is', async (t) => {
  const { create } = setUp(status(409, 'AlreadyExists'), status(409, 'Conflict'), {
    status: 201,
    body: binding,
  });
  t.equal(await create(), 'exists');
  await t.rejects(create(), StatusError);
  t.match(await create(), binding);
});

t.test('updates and deletions distinguish conflicts from missing objects', async (t) => {
  const answers = () => [status(409, 'Conflict'), status(404, 'NotFound'), { status: 200, body: binding }];
  const place = { namespace: 'web' };
  const updating = setUp(...answers());
  for (const outcome of ['conflict', 'gone', binding])
    t.match(await updating.objects.update(KINDS.RoleBinding, place, binding, signal), outcome);
  const deleting = setUp(...answers());
  for (const outcome of ['conflict', 'gone', 'deleted'])
    t.equal(await deleting.objects.delete(KINDS.RoleBinding, place, binding, signal), outcome);
  t.match(JSON.parse(String(deleting.asked[0]?.body)), {
    preconditions: { uid: 'u1', resourceVersion: '7' },
  });
});

t.test('only an object that was read can be deleted', async (t) => {
  const { objects } = setUp();
  const unread = { ...binding, metadata: { name: 'b' } };
  await t.rejects(objects.delete(KINDS.RoleBinding, { namespace: 'web' }, unread, signal), TypeError);
});

t.test('a status is written as a merge patch, only if the object has not changed', async (t) => {
  const { objects, asked } = setUp({ status: 200, body: binding }, status(409, 'Conflict'));
  const conditions = [{ type: 'Ready' }];
  const write = () =>
    objects.updateStatus(KINDS.RoleBinding, { namespace: 'web' }, binding, { conditions }, signal);
  t.match(await write(), binding);
  t.match(asked[0], { method: 'PATCH', target: /rolebindings\/b\/status$/ });
  t.same(JSON.parse(String(asked[0]?.body)), {
    metadata: { resourceVersion: '7' },
    status: { conditions },
  });
  t.equal(await write(), 'conflict');
});

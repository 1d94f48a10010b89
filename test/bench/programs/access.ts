/**
 * Measures the RBAC index and the features on it, in one process, and prints the figures as JSON: ratios to
 * the work that no implementation can avoid. Started by `access.ts`.
 */
import { listText } from '../../../src/features/namespaces/namespace-form.ts';
import { selectPage } from '../../../src/features/namespaces/namespace-list.ts';
import { NamespaceSelection } from '../../../src/features/namespaces/namespaces-request.ts';
import { VisibleNamespaces } from '../../../src/features/namespaces/visible-namespaces.ts';
import type { INDEXED_RESOURCES, StoredObject } from '../../../src/kubernetes/rbac-v1.ts';
import { uniformSubject } from '../../../src/rbac/attributes.ts';
import { decide } from '../../../src/rbac/decide.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { createRBACReader } from '../../../src/rbac/read-rbac-object.ts';
import { whoCan } from '../../../src/rbac/who-can.ts';
import {
  AUDITOR,
  auditorsBinding,
  bindingEvent,
  createLists,
  type ListTexts,
  MEMBERS,
  memberOf,
  namespaceName,
  SIZE,
} from '../access-cluster.ts';
import { median, quantile } from '../statistics.ts';

const ROUNDS = 7;
const USERS = 300;
const PER_SECOND = 1_000;
const SECONDS = 5;
const CONTEXT = { form: { kind: 'objects' }, now: 0, showsTenant: false } as const;
const EVERYTHING = new NamespaceSelection({ labelSelector: '', fieldSelector: '' }, '');
const reader = createRBACReader({ inTenants: false });

/** Milliseconds of CPU. */
function cost(action: () => void): number {
  const before = process.cpuUsage();
  action();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function heap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** The medians of both over the rounds, in turn, and their ratio. */
function compare(measured: () => void, unavoidable: () => void) {
  const costs: [number, number][] = [];
  for (let round = 0; round < ROUNDS; round += 1) costs.push([cost(measured), cost(unavoidable)]);
  const settled = costs.slice(2);
  return {
    ms: median(settled.map(([one]) => one)),
    unavoidableMs: median(settled.map(([, other]) => other)),
    ratio: median(settled.map(([one, other]) => one / other)),
  };
}

function load(index: RBACIndex, resource: (typeof INDEXED_RESOURCES)[number], lists: ListTexts): void {
  const objects: StoredObject[] = [];
  let revision = 1;
  for (const text of lists[resource]) {
    const page: { metadata: { resourceVersion: string }; items: object[] } = JSON.parse(text);
    revision = Number(page.metadata.resourceVersion);
    for (const value of page.items)
      objects.push(reader.read(resource, { value, text: () => JSON.stringify(value) }));
  }
  index.replace(resource, objects, revision);
}

function memoryPerBinding(lists: ListTexts): { index: RBACIndex; bytes: number } {
  const index = new RBACIndex();
  for (const resource of ['namespaces', 'roles', 'clusterroles', 'clusterrolebindings'] as const)
    load(index, resource, lists);
  const before = heap();
  load(index, 'rolebindings', lists);
  return { index, bytes: (heap() - before) / (SIZE.namespaces * SIZE.bindingsPerNamespace) };
}

function lists(index: RBACIndex) {
  const subjects = Array.from({ length: USERS }, (_, user) => uniformSubject(memberOf(user)));
  const views = subjects.map((subject) => new VisibleNamespaces(index, subject, ''));
  const objects = views.map(({ sorted }) => sorted.map(({ json }) => JSON.parse(json)));
  const answer = (view: VisibleNamespaces) =>
    Buffer.from(
      listText(selectPage(view.sorted, EVERYTHING, '', 0).namespaces, { resourceVersion: '1' }, CONTEXT),
    );
  const serialize = () => {
    for (const items of objects)
      Buffer.from(JSON.stringify({ kind: 'NamespaceList', apiVersion: 'v1', metadata: {}, items }));
  };
  // New objects, as each request has them.
  const requests = Array.from({ length: ROUNDS }, () =>
    Array.from({ length: USERS }, (_, user) => uniformSubject(memberOf(user))),
  );
  const first = compare(() => {
    for (const subject of requests.pop() ?? []) answer(new VisibleNamespaces(index, subject, ''));
  }, serialize);
  const later = compare(() => {
    for (const view of views) answer(view);
  }, serialize);
  return {
    namespacesPerUser: median(views.map(({ sorted }) => sorted.length)),
    first,
    later,
  };
}

/** The cost of a client that lists again after 410, and may see every namespace by its new rights. */
function relist(index: RBACIndex) {
  const value = auditorsBinding(index.revision + 1);
  index.put(reader.read('clusterrolebindings', { value, text: () => JSON.stringify(value) }));
  const list = () => {
    const view = new VisibleNamespaces(index, uniformSubject(AUDITOR), '');
    return { view, page: selectPage(view.sorted, EVERYTHING, '', 0) };
  };
  const { view } = list();
  const items = view.sorted.map(({ json }) => JSON.parse(json));
  const measured = compare(
    () => Buffer.from(listText(list().page.namespaces, { resourceVersion: '1' }, CONTEXT)),
    () => Buffer.from(JSON.stringify({ kind: 'NamespaceList', apiVersion: 'v1', metadata: {}, items })),
  );
  return { namespaces: items.length, ...measured };
}

function whoCanDelete(index: RBACIndex) {
  const question = { verb: 'delete', apiGroup: '', resource: 'secrets', subresource: '', name: '' };
  const objects = index.objectsOf('');
  const written = ({ grants }: ReturnType<typeof whoCan>) =>
    grants.map(({ subject, binding, role }) => ({
      subject,
      binding: { kind: binding.resource, namespace: binding.namespace, name: binding.name },
      role: { kind: role.resource, name: role.name },
    }));
  const result = written(whoCan(objects, question, 'all'));
  const measured = compare(
    () => JSON.stringify(written(whoCan(objects, question, 'all'))),
    () => JSON.stringify(result),
  );
  return { grants: result.length, ...measured };
}

/** Events that arrive at a steady rate, each until a decision takes account of it. */
async function replay(index: RBACIndex) {
  const total = PER_SECOND * SECONDS;
  const users = Array.from({ length: USERS }, (_, user) => memberOf(user));
  const question = { verb: 'list', apiGroup: '', resource: 'pods', subresource: '', name: '', tenant: '' };
  const delays: number[] = [];
  const { revision } = index;
  // What the scenarios before have allocated is not the index's.
  globalThis.gc?.();
  const began = performance.now();
  for (let at = 0; at < total; ) {
    for (; at < total && performance.now() - began >= (at * 1_000) / PER_SECOND; at += 1) {
      const place = (at * 7) % SIZE.namespaces;
      const uid = index.objectsOf('').bindingsIn(namespaceName(place)).get(MEMBERS)?.uid ?? '';
      const line = JSON.stringify(bindingEvent(place, uid, revision + 1 + at));
      const value: unknown = JSON.parse(line);
      const object = reader.read('rolebindings', { value, text: () => line });
      index.put(object);
      const user = users[at % USERS];
      if (user !== undefined && object.resource === 'rolebindings')
        decide(index, user, { ...question, namespace: object.namespace });
      delays.push(performance.now() - began - (at * 1_000) / PER_SECOND);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return {
    p50Ms: quantile(delays, 0.5),
    p99Ms: quantile(delays, 0.99),
  };
}

const texts = createLists();
const { index, bytes } = memoryPerBinding(texts);
const figures = {
  bytesPerBinding: bytes,
  lists: lists(index),
  relist: relist(index),
  whoCan: whoCanDelete(index),
  events: await replay(index),
};
console.log(JSON.stringify(figures));

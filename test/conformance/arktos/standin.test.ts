/**
 * The stand-in API server responds as a real Arktos did: to every row of paths.tsv, with the tenant
 * administrator's own credential and with the proxy's, and in every recorded exchange.
 */
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { isObject, type JsonObject, objectAt, objectsAt, textAt } from '../../support/apiserver/json.ts';
import { startRecordedCluster } from './recorded-cluster.ts';
import { type Answer, ask } from './wire.ts';

const REVIEWS: Readonly<Record<string, JsonObject>> = {
  tokenreviews: { kind: 'TokenReview', spec: { token: 'nope' } },
  selfsubjectaccessreviews: review('SelfSubjectAccessReview', {}),
  selfsubjectrulesreviews: { kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } },
  subjectaccessreviews: review('SubjectAccessReview', { user: 'tenant1:alice' }),
  localsubjectaccessreviews: {
    ...review('LocalSubjectAccessReview', { user: 'tenant1:alice' }),
    metadata: { namespace: 'default' },
  },
};

function review(kind: string, spec: JsonObject): JsonObject {
  return {
    kind,
    spec: { ...spec, resourceAttributes: { namespace: 'default', verb: 'list', resource: 'pods' } },
  };
}

function bodyFor(path: string): JsonObject | undefined {
  const body = REVIEWS[path.split('/').at(-1) ?? ''];
  return body && { ...body, apiVersion: path.split('/').slice(2, 4).join('/') };
}

const rows = readFileSync(new URL('paths.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [method = '', short = '', action = '', upstream = '', own = '', proxied = ''] = line.split('\t');
    return { method, short, action, upstream, own: Number(own), proxied: Number(proxied) };
  });

const AS_ROOT = [
  ['Impersonate-User', 'tenant1:root'],
  ['Impersonate-Group', 'system:authenticated'],
] as const;

t.test('every row of paths.tsv gets the recorded status', async (t) => {
  const server = await startRecordedCluster();
  t.teardown(() => server.close());
  for (const { method, short, action, upstream, own, proxied } of rows) {
    const body = bodyFor(short);
    const asAdmin = await ask(server.url, {
      method,
      path: short,
      headers: [['Authorization', 'Bearer t1-admin']],
      body,
    });
    t.equal(asAdmin.status, own, `${method} ${short} with the tenant admin's own credential`);
    const asProxy = await ask(server.url, {
      method,
      path: upstream,
      headers: [['Authorization', 'Bearer proxy'], ...(action === 'D' ? [] : AS_ROOT)],
      body,
    });
    t.equal(asProxy.status, proxied, `${method} ${upstream} as the proxy`);
  }
});

interface Recording {
  readonly request: { method: string; path: string; headers: [string, string][]; body: JsonObject | null };
  readonly response: { status: number; headers: [string, string][]; body: unknown };
}

/** Exchanges that later ones depend on come first, in the order in which they were recorded. */
const FIRST = ['configmap-create', 'tenant-create', 'clusterrole-create', 'rolebinding-create'];
const recordings = readdirSync(new URL('recorded/', import.meta.url)).map((file) =>
  file.replace(/\.json$/, ''),
);
const inOrder = [...FIRST, ...recordings.filter((name) => !FIRST.includes(name))];

t.test('every recorded exchange gets the recorded response', async (t) => {
  const server = await startRecordedCluster();
  t.teardown(() => server.close());
  for (const name of inOrder) {
    const recording: Recording = JSON.parse(
      readFileSync(new URL(`recorded/${name}.json`, import.meta.url), 'utf8'),
    );
    const { request, response } = recording;
    const answer = await ask(server.url, {
      method: request.method,
      path: request.path,
      headers: request.headers.map(([key, value]) => [key, value.replace(/^Bearer <(.*)>$/, 'Bearer $1')]),
      body: request.body ?? undefined,
    });
    t.equal(answer.status, response.status, `${name}: status`);
    t.equal(answer.contentType, headerOf(response.headers, 'content-type'), `${name}: content type`);
    t.same(comparable(bodyOf(answer)), comparable(response.body), `${name}: body`);
  }
});

function headerOf(headers: readonly (readonly [string, string])[], name: string): string | undefined {
  return headers.find(([key]) => key.toLowerCase() === name)?.[1];
}

/** The body is one JSON document, or one per line in a watch. */
function bodyOf(answer: Answer): unknown {
  const lines = answer.body.trim().split('\n');
  return lines.length > 1 || answer.body.startsWith('{"type"')
    ? lines.map((line): unknown => JSON.parse(line))
    : JSON.parse(answer.body);
}

/** Fields that differ between servers. */
const VOLATILE = new Set([
  'uid',
  'hashKey',
  'resourceVersion',
  'creationTimestamp',
  'serverAddress',
  'description',
]);
/** Builds of Arktos list different paths beside the API, so only the presence of the list is compared. */
const PATHS = 'paths';

function comparable(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    if (key === PATHS) return 'list of paths';
    const items = value.map((item) => comparable(item, key));
    return isUnordered(key, value)
      ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      : items;
  }
  if (!isObject(value)) return value;
  if (value.kind === 'Table') return comparableTable(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const entries = members.map(([name, member]) => [
    name,
    VOLATILE.has(name) && member !== null && !(name === 'uid' && key === 'user')
      ? `some ${name}`
      : comparable(member, name),
  ]);
  return Object.fromEntries(entries);
}

/**
 * The first events of a watch, a user's rules and discovered resources come in no defined order.
 */
function isUnordered(key: string, items: readonly unknown[]) {
  return (
    key.endsWith('Rules') ||
    (key === 'resources' && items.some(isObject)) ||
    items.some((item) => isObject(item) && item.type === 'ADDED')
  );
}

/** Ages and hash keys change; all other cells do not. */
function comparableTable(table: JsonObject): unknown {
  const names = objectsAt(table, 'columnDefinitions').map((column) => textAt(column, 'name'));
  return {
    columns: objectsAt(table, 'columnDefinitions').map(({ description: _ours, ...column }) => column),
    selfLink: objectAt(table, 'metadata').selfLink,
    apiVersion: table.apiVersion,
    rows: objectsAt(table, 'rows').map(({ cells, object }) => ({
      cells: Array.isArray(cells) && cells.filter((_cell, i) => names[i] !== 'Age' && names[i] !== 'HashKey'),
      object: comparable(object),
    })),
  };
}

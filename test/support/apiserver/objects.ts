/**
 * Create, read, list, watch, update, patch and delete: the same for every kind in the store.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/
 */
import { randomUUID } from 'node:crypto';
import { admit, admitDeletion } from './admission.ts';
import { collectionPath } from './cluster.ts';
import { definitionIn, forcedAmong, refuseOverwriting } from './custom-resources.ts';
import { admitRights } from './escalation.ts';
import { type Exchange, readObject, readText, sendJSON, sendProtobuf } from './exchange.ts';
import { ensureObject, isObject, type JsonObject, objectAt, textAt } from './json.ts';
import type { Kind } from './kinds.ts';
import { pageOf } from './pages.ts';
import { applyPatch } from './patches.ts';
import { checkPreconditions } from './preconditions.ts';
import { prefersProtobuf } from './protobuf-answers.ts';
import { alreadyExists, badRequest, conflict, methodNotAllowed, notFound } from './statuses.ts';
import type { Location, Selection } from './store.ts';
import { metadataListOf, tableOf, versionWanted } from './tables.ts';
import { selectorOf, serveWatch } from './watches.ts';
import { callWebhooks } from './webhooks.ts';

/** Responds to a request for objects of a kind, including its `status` and `finalize` subresources. */
export async function serveObjects(exchange: Exchange, kind: Kind) {
  const { path, request } = exchange;
  switch (path.verb) {
    case 'list':
      return list(exchange, kind);
    case 'watch':
      return watch(exchange, kind);
    case 'get':
      return get(exchange, kind);
    case 'create':
      if (path.name !== '') throw methodNotAllowed();
      return create(exchange, kind, await readObject(request, kind.kind));
    case 'update':
      return update(exchange, kind, await readObject(request, kind.kind));
    case 'patch':
      return patch(exchange, kind, request.headers['content-type'] ?? '', await readText(request));
    case 'delete':
      return await remove(exchange, kind);
    case 'deletecollection':
      return removeMany(exchange, kind);
    default:
      throw methodNotAllowed();
  }
}

function locationOf({ cluster, tenant, path }: Exchange, kind: Kind, name = path.name): Location {
  return cluster.locate(kind, tenant, path.namespace, name);
}

function selectionOf(exchange: Exchange, kind: Kind): Selection {
  const { path, tenant, cluster } = exchange;
  const location = locationOf(exchange, kind, '');
  // All tenants share one prefix, so objects of other tenants in namespaces of that name are read too.
  if (kind.shared) {
    const { group, resource } = location;
    return { group, resource, ...(path.name === '' ? {} : { name: path.name }) };
  }
  return {
    group: location.group,
    resource: location.resource,
    ...(cluster.flavour === 'arktos' && tenant === 'all' ? {} : { tenant: location.tenant }),
    ...(location.namespace === '' ? {} : { namespace: location.namespace }),
    ...(path.name === '' ? {} : { name: path.name }),
  };
}

/**
 * An object as it is sent: in the requested version and, in lists of built-in kinds, without kind and
 * version.
 */
function present({ path }: Exchange, object: JsonObject): JsonObject {
  const { kind, apiVersion: _stored, ...rest } = object;
  return { kind, apiVersion: groupVersion(path.group, path.version), ...rest };
}

const groupVersion = (group: string, version: string) => (group === '' ? version : `${group}/${version}`);

function existing(exchange: Exchange, kind: Kind): { location: Location; object: JsonObject } {
  const location = definitionIn(exchange, kind, locationOf(exchange, kind));
  const object = exchange.cluster.store.get(location);
  if (object === undefined) throw notFound(kind.group, kind.resource, exchange.path.name);
  return { location, object };
}

/**
 * Only Arktos' protobuf differs from what clients know; an ordinary cluster may respond in JSON.
 */
function isProtobufWanted({ cluster, request }: Exchange) {
  return cluster.flavour === 'arktos' && prefersProtobuf(request.headers.accept ?? '');
}

function sendObject(exchange: Exchange, code: number, object: JsonObject) {
  if (isProtobufWanted(exchange)) sendProtobuf(exchange.response, code, object);
  else sendJSON(exchange.response, code, object);
}

function list(exchange: Exchange, kind: Kind) {
  const { cluster, path, response, request, tenant } = exchange;
  const selects = selectorOf(path.query);
  const found = cluster.store.list(selectionOf(exchange, kind)).map(({ object }) => object);
  const page = pageOf(found.filter(selects), path.query);
  const objects = [...forcedAmong(exchange, kind), ...page.objects].map((object) =>
    present(exchange, object),
  );
  const { group, resource, namespace } = locationOf(exchange, kind, '');
  const selfLink = collectionPath(kind, path.version, {
    tenant: kind.scope === 'cluster' ? '' : tenant,
    group,
    resource,
    namespace,
  });
  const metadata = {
    ...(cluster.flavour === 'arktos' ? { selfLink } : {}),
    resourceVersion: String(cluster.store.revision),
    ...page.metadata,
  };
  const table = versionWanted(request.headers.accept ?? '', 'Table');
  if (table !== undefined) {
    sendJSON(
      response,
      200,
      tableOf(kind, cluster.flavour, table, objects, metadata, path.query.get('includeObject')),
    );
    return;
  }
  const metadataList = versionWanted(request.headers.accept ?? '', 'PartialObjectMetadataList');
  if (metadataList !== undefined) {
    sendJSON(response, 200, metadataListOf(metadataList, objects, metadata));
    return;
  }
  const items = kind.custom ? objects : objects.map(({ kind: _kind, apiVersion: _version, ...item }) => item);
  sendObject(exchange, 200, {
    kind: `${kind.kind}List`,
    apiVersion: groupVersion(path.group, path.version),
    metadata,
    items,
  });
}

function watch(exchange: Exchange, kind: Kind) {
  const { cluster, path, request, response, ending } = exchange;
  const table = versionWanted(request.headers.accept ?? '', 'Table');
  serveWatch(response, {
    flavour: cluster.flavour,
    kind: kind.kind,
    protobuf: isProtobufWanted(exchange),
    store: cluster.store,
    selection: selectionOf(exchange, kind),
    selects: selectorOf(path.query),
    query: path.query,
    signal: ending,
    present(object, first) {
      const presented = present(exchange, object);
      if (table === undefined) return presented;
      const row = tableOf(kind, cluster.flavour, table, [presented], {}, path.query.get('includeObject'));
      return first ? row : { ...row, columnDefinitions: null };
    },
  });
}

function get(exchange: Exchange, kind: Kind) {
  const { cluster, path, request, response } = exchange;
  if (path.subresource === 'finalize') throw methodNotAllowed();
  const object = present(exchange, existing(exchange, kind).object);
  const table = versionWanted(request.headers.accept ?? '', 'Table');
  if (table === undefined) sendObject(exchange, 200, object);
  else
    sendJSON(
      response,
      200,
      tableOf(
        kind,
        cluster.flavour,
        table,
        [object],
        { resourceVersion: textAt(objectAt(object, 'metadata'), 'resourceVersion') },
        path.query.get('includeObject'),
      ),
    );
}

async function create(exchange: Exchange, kind: Kind, object: JsonObject) {
  const { cluster, response, tenant, path } = exchange;
  const metadata = ensureObject(object, 'metadata');
  if (textAt(metadata, 'name') === '' && textAt(metadata, 'generateName') !== '')
    metadata.name = textAt(metadata, 'generateName') + Math.random().toString(36).slice(2, 7).padEnd(5, 'x');
  const name = textAt(metadata, 'name');
  refuseOverwriting(exchange, kind, name, 'create');
  admit({ cluster, kind, tenant, namespace: path.namespace, version: path.version, object, isNew: true });
  admitRights(exchange, kind, object);
  const location = locationOf(exchange, kind, name);
  for (const key of ['resourceVersion', 'selfLink', 'creationTimestamp']) delete metadata[key];
  // Webhooks receive the UID with which the object will be stored.
  metadata.uid = randomUUID();
  await callWebhooks(exchange, kind, { operation: 'CREATE', object });
  if (cluster.store.get(location) !== undefined) throw alreadyExists(kind.group, kind.resource, name);
  if (kind.kind === 'Pod' && cluster.schedulesPods) ensureObject(object, 'spec').nodeName ??= 'n1';
  const stored = path.query.has('dryRun') ? object : cluster.write(kind, location, object);
  sendJSON(response, 201, present(exchange, stored));
}

async function update(exchange: Exchange, kind: Kind, object: JsonObject) {
  const { path, cluster, tenant } = exchange;
  refuseOverwriting(exchange, kind, path.name, 'change');
  const before = existing(exchange, kind);
  const metadata = ensureObject(object, 'metadata');
  if (textAt(metadata, 'name') !== path.name)
    throw badRequest(
      `the name of the object (${textAt(metadata, 'name')}) does not match the name on the URL (${path.name})`,
    );
  const version = textAt(metadata, 'resourceVersion');
  if (version !== '' && version !== textAt(objectAt(before.object, 'metadata'), 'resourceVersion'))
    throw conflict(kind.group, kind.resource, path.name);
  admit({ cluster, kind, tenant, namespace: path.namespace, version: path.version, object, isNew: false });
  admitRights(exchange, kind, object, before.object);
  await callWebhooks(exchange, kind, { operation: 'UPDATE', object, oldObject: before.object });
  replace(exchange, kind, before, object);
}

async function patch(exchange: Exchange, kind: Kind, contentType: string, body: string) {
  const { cluster, tenant, path } = exchange;
  refuseOverwriting(exchange, kind, path.name, 'change');
  const isApply = contentType.startsWith('application/apply-patch');
  const location = locationOf(exchange, kind);
  if (isApply && cluster.store.get(location) === undefined) {
    await create(exchange, kind, applyPatch(contentType, {}, body));
    return;
  }
  const before = existing(exchange, kind);
  const object = applyPatch(contentType, present(exchange, before.object), body);
  admit({ cluster, kind, tenant, namespace: path.namespace, version: path.version, object, isNew: false });
  admitRights(exchange, kind, object, before.object);
  await callWebhooks(exchange, kind, { operation: 'UPDATE', object, oldObject: before.object });
  replace(exchange, kind, before, object);
}

/** The status is written only through its own subresource, which writes nothing else. */
function replace(
  exchange: Exchange,
  kind: Kind,
  before: { location: Location; object: JsonObject },
  object: JsonObject,
) {
  const { cluster, path, response } = exchange;
  // The object may have changed while a webhook was called.
  if (cluster.store.get(before.location) !== before.object)
    throw conflict(kind.group, kind.resource, path.name);
  const hasStatus = kind.subresources.some(({ name }) => name === 'status');
  const next =
    path.subresource === 'status'
      ? { ...before.object, status: object.status ?? {} }
      : hasStatus
        ? { ...object, status: before.object.status ?? {} }
        : object;
  const unchanged = JSON.stringify(withoutRevision(next)) === JSON.stringify(withoutRevision(before.object));
  const stored = unchanged || path.query.has('dryRun') ? next : cluster.write(kind, before.location, next);
  sendJSON(response, 200, present(exchange, stored));
}

function withoutRevision(object: JsonObject): JsonObject {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _revision, ...marks } = isObject(metadata) ? metadata : {};
  return { metadata: marks, ...rest };
}

async function remove(exchange: Exchange, kind: Kind) {
  const { cluster, path, request, response } = exchange;
  refuseOverwriting(exchange, kind, path.name, 'delete');
  const { location, object } = existing(exchange, kind);
  admitDeletion(kind, location);
  await checkPreconditions(request, kind, object);
  await callWebhooks(exchange, kind, { operation: 'DELETE', oldObject: object });
  if (!path.query.has('dryRun')) cluster.remove(location);
  if (kind.resource === 'pods' || kind.resource === 'namespaces') {
    sendJSON(response, 200, present(exchange, object));
    return;
  }
  const uid = textAt(objectAt(object, 'metadata'), 'uid');
  const group = kind.group === '' ? {} : { group: kind.group };
  const details = { name: path.name, ...group, kind: kind.resource, uid };
  sendJSON(response, 200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
}

async function removeMany(exchange: Exchange, kind: Kind) {
  const { cluster, path, response } = exchange;
  const selects = selectorOf(path.query);
  const found = cluster.store
    .list({ ...selectionOf(exchange, kind), ...(kind.shared ? { tenant: '' } : {}) })
    .filter(({ object }) => selects(object));
  for (const { location, object } of found) {
    admitDeletion(kind, location);
    await callWebhooks(exchange, kind, { operation: 'DELETE', oldObject: object });
  }
  for (const { location } of found) cluster.remove(location);
  sendJSON(response, 200, {
    kind: `${kind.kind}List`,
    apiVersion: groupVersion(path.group, path.version),
    metadata: { resourceVersion: String(cluster.store.revision) },
    items: found.map(({ object }) => object),
  });
}

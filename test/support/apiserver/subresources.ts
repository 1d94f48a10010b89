/**
 * Subresources of single objects: logs, exec, attach, port-forward, proxy and eviction of pods, and scales.
 */
import type { ServerResponse } from 'node:http';
import { type Exchange, readObject, readText, sendJSON, sendText } from './exchange.ts';
import { ensureObject, isObject, type JsonObject, objectAt, textAt } from './json.ts';
import type { Kind } from './kinds.ts';
import { applyPatch, parseBody } from './patches.ts';
import type { PodLog } from './pods.ts';
import { type RemoteKind, serveRemote } from './remote-command.ts';
import { ApiError, badRequest, methodNotAllowed, notFound } from './statuses.ts';
import type { Location } from './store.ts';

/** Responds to a request for a subresource other than `status` and `finalize`. */
export async function serveSubresource(exchange: Exchange, kind: Kind) {
  const { cluster, tenant, path, response } = exchange;
  // The name of a proxied service may have a scheme and a port around it: `http:web:80`.
  const name =
    path.subresource === 'proxy' ? (/^(?:https?:)?([^:]+)(?::\d*)?$/.exec(path.name)?.[1] ?? '') : path.name;
  const location = cluster.locate(kind, tenant, path.namespace, name);
  const object = cluster.store.get(location);
  if (object === undefined) throw notFound(kind.group, kind.resource, name);
  if (path.subresource === 'scale') return serveScale(exchange, kind, location, object);
  if (kind.resource !== 'pods')
    throw new ApiError(503, 'ServiceUnavailable', `no endpoints available for ${JSON.stringify(name)}`, {});
  if (path.subresource === 'eviction') return evict(exchange, location);
  const isScheduled = textAt(objectAt(object, 'spec'), 'nodeName') !== '';
  if (path.subresource === 'log') {
    if (isScheduled) serveLog(response, cluster.pods.at(location).log, path.query, exchange.ending);
    else response.writeHead(204).end();
    return;
  }
  if (!isScheduled)
    throw path.subresource === 'proxy'
      ? badRequest('address not allowed')
      : badRequest(`pod ${name} does not have a host assigned`);
  serveRunning(exchange, location);
}

function serveRunning({ cluster, path, request, response, upgrade }: Exchange, location: Location) {
  const pod = cluster.pods.at(location);
  switch (path.subresource) {
    case 'proxy':
      pod.answer(request, response, path.tail === '' ? '/' : path.tail);
      return;
    case 'exec':
    case 'attach':
    case 'portforward': {
      const kind: RemoteKind = path.subresource;
      if (kind === 'exec' && !path.query.has('command'))
        throw badRequest('you must specify at least 1 command for the container');
      if (upgrade === undefined) throw badRequest('Upgrade request required');
      serveRemote(kind, request, upgrade.socket, upgrade.head, path.query, pod);
      return;
    }
    default:
      throw methodNotAllowed();
  }
}

function serveLog(response: ServerResponse, log: PodLog, query: URLSearchParams, ending: AbortSignal) {
  const stamped = query.get('timestamps') === 'true';
  const write = (line: { at: string; text: string }) => {
    response.write(`${stamped ? `${line.at} ` : ''}${line.text}\n`);
  };
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  const tail = query.get('tailLines');
  const lines = tail === null ? log.lines : log.lines.slice(Math.max(0, log.lines.length - Number(tail)));
  for (const line of lines) write(line);
  if (query.get('follow') !== 'true') {
    response.end();
    return;
  }
  response.flushHeaders();
  const end = () => {
    response.end();
  };
  const stop = log.follow(write, end);
  ending.addEventListener('abort', end);
  response.once('close', () => {
    stop();
    ending.removeEventListener('abort', end);
  });
}

async function evict({ cluster, request, response }: Exchange, location: Location) {
  await readObject(request, 'Eviction');
  cluster.remove(location);
  sendJSON(response, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}

async function serveScale(exchange: Exchange, kind: Kind, location: Location, object: JsonObject) {
  const { cluster, path, request, response } = exchange;
  const scale = scaleOf(object);
  if (path.verb === 'get') {
    sendJSON(response, 200, scale);
    return;
  }
  const body = await readText(request);
  const wanted =
    path.verb === 'patch' ? applyPatch(request.headers['content-type'] ?? '', scale, body) : parseBody(body);
  // The words of the refusal are a guess; only its status was seen.
  if (location.tenant !== '' && (!isObject(wanted) || textAt(objectAt(wanted, 'metadata'), 'tenant') === ''))
    throw new ApiError(
      422,
      'Invalid',
      `Scale ${JSON.stringify(location.name)} is invalid: metadata.tenant: Required value`,
    );
  const replicas = isObject(wanted) ? objectAt(wanted, 'spec').replicas : undefined;
  if (typeof replicas !== 'number') throw badRequest('a Scale needs spec.replicas');
  const next = structuredClone(object);
  ensureObject(next, 'spec').replicas = replicas;
  sendJSON(response, 200, scaleOf(cluster.write(kind, location, next)));
}

function scaleOf(object: JsonObject): JsonObject {
  const { name, namespace, tenant, uid, resourceVersion, creationTimestamp } = objectAt(object, 'metadata');
  const spec = objectAt(object, 'spec');
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, tenant, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec.replicas ?? 1 },
    status: { replicas: objectAt(object, 'status').replicas ?? 0 },
  };
}

export function sendUnknownRoute(response: ServerResponse) {
  sendText(response, 404, '404 page not found\n');
}

/** The processing of a request in the stand-in, in the order of Arktos’ own filters. */
import { type Exchange, readObject, sendJSON } from './exchange.ts';
import type { Kind } from './kinds.ts';
import { serveNonResource } from './non-resource.ts';
import { serveObjects } from './objects.ts';
import { parseRequestPath, type RequestPath } from './request-path.ts';
import { answerReview } from './reviews.ts';
import { forbidden, forbiddenPath, methodNotAllowed, PlainError } from './statuses.ts';
import { sendUnknownRoute, serveSubresource } from './subresources.ts';
import { authenticate, impersonate, type User } from './users.ts';

const OWN_SUBRESOURCES = new Set(['', 'status', 'finalize']);

/**
 * @param onUser called with the user of the request, after impersonation
 * @throws ApiError or PlainError to be sent to the client
 */
export async function serveRequest(
  raw: Omit<Exchange, 'path' | 'user' | 'tenant'>,
  onUser: (user: User) => void,
) {
  const { cluster, request, response } = raw;
  const arktos = cluster.flavour === 'arktos';
  const path = parseRequestPath(request.method ?? '', request.url ?? '', arktos);
  const sender = authenticate(request, cluster.tokens, cluster.flavour);
  if (arktos && sender.tenant === '')
    throw new PlainError(
      500,
      `Internal Server Error: The tenant in the user info of ${sender.username} is empty.`,
    );
  // A short path means the sender's own tenant; impersonation comes later and does not change it.
  const tenant = arktos && path.tenant === '' ? sender.tenant : path.tenant;
  const user = impersonate(request, sender, cluster.rbac, cluster.flavour);
  onUser(user);
  authorize(raw.cluster, user, path, tenant);
  const exchange: Exchange = { ...raw, path, user, tenant };
  if (!path.isResourceRequest) {
    serveNonResource(exchange);
    return;
  }
  const kind = cluster.kind(path.group, path.version, path.resource, tenant);
  if (kind === undefined || !isRouted(kind, path)) {
    sendUnknownRoute(response);
    return;
  }
  await serveResource(exchange, kind);
}

function authorize(cluster: Exchange['cluster'], user: User, path: RequestPath, tenant: string) {
  const { isResourceRequest, verb, group, resource, subresource, namespace, name } = path;
  const target = { verb, group, resource, subresource, namespace, name, tenant };
  if (cluster.rbac.authorize({ ...target, user, isResourceRequest, path: path.path }).allowed) return;
  throw isResourceRequest
    ? forbidden({ ...target, userName: user.username })
    : forbiddenPath(user.username, verb, path.path);
}

/** Whether the server has a route of this form for the kind. */
function isRouted(kind: Kind, path: RequestPath) {
  if (path.verb === 'proxy') return false;
  if (kind.scope === 'cluster' && path.tenant !== '') return false;
  const isNamespaceItself = kind.group === '' && kind.resource === 'namespaces';
  if (kind.scope !== 'namespaced' && path.namespace !== '' && !isNamespaceItself) return false;
  if (path.subresource !== '' && !kind.subresources.some(({ name }) => name === path.subresource))
    return false;
  const spansNamespaces = kind.scope === 'namespaced' && path.namespace === '';
  return !spansNamespaces || path.verb === 'list' || path.verb === 'watch' || path.verb === 'create';
}

async function serveResource(exchange: Exchange, kind: Kind) {
  const { path, cluster, user, request, response } = exchange;
  if (!kind.verbs.includes('get')) {
    if (path.verb !== 'create') throw methodNotAllowed();
    const review = await readObject(request, kind.kind);
    const answer = answerReview(cluster, user, kind.kind, path.namespace, review);
    if (answer === undefined) throw methodNotAllowed();
    sendJSON(response, 201, answer);
    return;
  }
  if (!OWN_SUBRESOURCES.has(path.subresource)) {
    await serveSubresource(exchange, kind);
    return;
  }
  if (kind.scope === 'namespaced' && path.namespace === '' && path.verb === 'create')
    throw methodNotAllowed();
  await serveObjects(exchange, kind);
}

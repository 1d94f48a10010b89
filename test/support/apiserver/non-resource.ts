/**
 * Paths that are not resources: discovery, OpenAPI, the version, health and the other endpoints of an API
 * server.
 */
import type { Cluster } from './cluster.ts';
import * as discovery from './discovery.ts';
import { type Exchange, sendJSON, sendText } from './exchange.ts';
import type { JsonObject } from './json.ts';
import { OPENAPI_TYPE, openapiDocument } from './openapi.ts';

const HEALTH = new Set([
  '/healthz',
  '/livez',
  '/readyz',
  '/healthz/ping',
  '/livez/ping',
  '/readyz/ping',
  '/readyz/shutdown',
]);

/** Arktos' OpenStack-like endpoints; each leads into the system tenant. */
const REDIRECTS: Readonly<Record<string, string>> = {
  '/servers': '/api/v1/tenants/system/namespaces/kube-system/pods',
  '/flavors': '/flavors/',
  '/images': '/images/',
};

export function serveNonResource(exchange: Exchange) {
  const { cluster, path, response, request } = exchange;
  const at = path.path.replace(/(.)\/$/, '$1');
  const document = discoveryDocument(exchange, at);
  if (document !== undefined) {
    sendJSON(response, 200, document);
    return;
  }
  if (at.startsWith('/apis/')) {
    sendText(response, 404, '404 page not found\n');
    return;
  }
  const redirect = cluster.flavour === 'arktos' ? REDIRECTS[at] : undefined;
  if (redirect !== undefined) response.writeHead(307, { Location: redirect }).end();
  else if (at === '/openapi/v2') sendOpenapi(exchange, request.headers.accept ?? '');
  else if (at === '/version') sendJSON(response, 200, versionOf(cluster));
  else if (HEALTH.has(at)) sendText(response, 200, 'ok');
  else if (at === '/metrics') sendText(response, 200, 'apiserver_request_total 1\n');
  else if (at === '/logs') sendText(response, 200, 'kube-apiserver.log\n');
  else
    sendJSON(response, at === '/' ? 200 : 404, {
      paths: ['/apis', '/apis/', ...HEALTH, '/metrics', '/openapi/v2', '/version'].sort(),
    });
}

function discoveryDocument({ cluster, path, user, address }: Exchange, at: string): JsonObject | undefined {
  const tenant = path.query.get('tenant') ?? user.tenant;
  const [, root, ...rest] = at.split('/');
  if (root === 'api') {
    if (rest.length === 0) return discovery.coreVersions(address);
    return rest.length === 1 ? discovery.resourceList(cluster, tenant, '', rest[0] ?? '') : undefined;
  }
  if (root !== 'apis') return undefined;
  const [group, version] = rest;
  if (group === undefined) return discovery.groupList(cluster, tenant);
  if (version === undefined) return discovery.group(cluster, tenant, group);
  return rest.length === 2 ? discovery.resourceList(cluster, tenant, group, version) : undefined;
}

function sendOpenapi({ cluster, path, user, response }: Exchange, accept: string) {
  if (!accept.includes('protobuf')) {
    sendJSON(response, 200, {
      swagger: '2.0',
      info: { title: 'Stand-in', version: 'v1' },
      paths: {},
      definitions: {},
    });
    return;
  }
  const document = openapiDocument(cluster, path.query.get('tenant') ?? user.tenant);
  response.writeHead(200, { 'Content-Type': OPENAPI_TYPE, 'Content-Length': document.length });
  response.end(document);
}

function versionOf({ flavour, gitVersion }: Cluster): JsonObject {
  const build = { buildDate: '1970-01-01T00:00:00Z', compiler: 'gc', platform: 'linux/amd64' };
  const recorded =
    flavour === 'arktos'
      ? {
          major: '',
          minor: '',
          gitVersion: 'v0.0.0-master+$Format:%h$',
          gitCommit: '$Format:%H$',
          gitTreeState: '',
          goVersion: 'go1.19.8',
          ...build,
        }
      : {
          major: '1',
          minor: '30',
          gitVersion: 'v1.30.0',
          gitCommit: '0000000',
          gitTreeState: 'clean',
          goVersion: 'go1.22.2',
          ...build,
        };
  if (gitVersion === undefined) return recorded;
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return { ...recorded, major, minor, gitVersion };
}

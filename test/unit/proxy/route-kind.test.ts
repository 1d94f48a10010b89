/** Which kind of route a request has, as a table of all cases. */

import t from 'tap';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { type RouteKind, routeKind } from '../../../src/proxy/route-kind.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../../src/tenancy/tenancy-mode.ts';
import { keystoneIdentity } from '../../support/identities.ts';
import { ownAPIOf } from '../../support/own-api.ts';

const shared = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
const arktos = createArktosMode({ systemTenant: 'system', domains: { ops: 'system' }, showsOwnTenant: true });
const ownAPI = ownAPIOf();
const OWN = '/apis/stonegate.dev/v1alpha1';

interface More {
  readonly mode?: TenancyMode;
  readonly home?: string;
  readonly upgrade?: unknown;
  readonly crossing?: unknown;
}

function kindOf(request: string, { mode = shared, home = 'acme', ...more }: More = {}): RouteKind {
  const [method = '', target = ''] = request.split(' ');
  const identity = keystoneIdentity('alice', { home });
  const tenant = mode.tenantOf(identity);
  const info = readRequestInfo(method, target, mode.facts);
  const { upgrade, crossing } = more;
  const exchange = { method, ...(upgrade !== undefined && { upgrade }) };
  const route =
    ownAPI.route(info, method, tenant) ?? mode.route(info, method, tenant, mode.userOf(identity, tenant));
  return routeKind({ info, exchange, tenant, ...(crossing !== undefined && { crossing }) }, route, mode);
}

t.test('each request has the expected kind', async (t) => {
  for (const [request, kind, more] of [
    ['GET /api/v1/namespaces/n/pods', 'forward'],
    ['GET /api/v1/namespaces/n/pods/p', 'forward'],
    ['POST /api/v1/namespaces/n/pods', 'forward'],
    ['GET /api/v1/namespaces/n/pods?watch=1', 'forward'],
    ['GET /version', 'forward'],

    ['GET /api/v1/namespaces', 'namespaces'],
    ['GET /api/v1/namespaces?watch=1', 'namespaces'],
    ['GET /api/v1/watch/namespaces/n', 'namespaces'],
    ['GET /api/v1/namespaces?fieldSelector=metadata.name%3Dn', 'namespaces'],
    ['HEAD /api/v1/namespaces', 'forward'],
    ['POST /api/v1/namespaces', 'forward'],
    ['DELETE /api/v1/namespaces', 'forward'],
    ['GET /api/v1/namespaces/n', 'forward'],
    ['GET /api/v1/namespaces/n/status', 'forward'],
    ['GET /api/v2/namespaces', 'forward'],
    ['GET /api/v1/namespaces', 'namespaces', { mode: arktos }],
    ['GET /api/v1/namespaces', 'forward', { mode: arktos, home: 'ops' }],
    ['GET /api/v1/namespaces', 'forward', { mode: arktos, crossing: {} }],
    ['GET /api/v1/namespaces', 'forward', { upgrade: {} }],
    ['GET /api/v1/namespaces?watch=1', 'namespaces', { upgrade: {} }],

    ['GET /api/v1/pods', 'all-namespaces'],
    ['GET /api/v1/watch/pods', 'all-namespaces'],
    ['GET /apis/example.com/v1/namespaces', 'all-namespaces'],
    ['GET /api/v1/nodes', 'all-namespaces'],
    ['GET /api/v1/pods?fieldSelector=metadata.name%3Dx', 'forward'],
    ['HEAD /api/v1/pods', 'forward'],
    ['DELETE /api/v1/pods', 'forward'],
    ['POST /api/v1/pods', 'forward'],
    ['GET /api/v1/pods', 'forward', { mode: arktos, crossing: {} }],
    ['GET /api/v1/pods', 'forward', { upgrade: {} }],
    ['GET /api/v1/pods?watch=1', 'all-namespaces', { upgrade: {} }],
    ['GET /api/v1/namespaces/n/pods?watch=1', 'forward', { upgrade: {} }],

    ['GET /apis', 'group-list'],
    ['HEAD /apis/', 'group-list'],
    ['GET /openapi/v3?hash=1', 'group-list'],
    ['POST /apis', 'forward'],
    ['GET /apis', 'forward', { upgrade: {} }],
    ['GET /apis/apps', 'forward'],
    ['GET /apis', 'discovery', { mode: arktos }],
    ['GET /apis', 'discovery', { mode: arktos, crossing: {} }],

    ['GET /apis/stonegate.dev', 'own-discovery'],
    [`GET ${OWN}`, 'own-discovery'],
    [`GET ${OWN}/selfidentity`, 'own-api'],
    [`POST ${OWN}/explanations`, 'own-api'],
    [`POST ${OWN}/resourceaccessreviews`, 'own-api'],
    [`POST ${OWN}/namespaces/n/localresourceaccessreviews`, 'own-api'],
    [`GET ${OWN}/selfaccessrules`, 'own-api'],
    [`POST ${OWN}/accessrulesreviews`, 'own-api'],

    ['POST /apis/authentication.k8s.io/v1/selfsubjectreviews', 'self-review'],
    ['POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'forward'],
    ['POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'self-review', { mode: arktos }],
    [
      'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      'guest-review',
      { mode: arktos, crossing: {} },
    ],
    ['GET /api/v1/tenants', 'own-tenant', { mode: arktos }],
    ['GET /api/v1/tenants', 'all-namespaces', { mode: arktos, home: 'ops' }],
  ] as const satisfies readonly (readonly [string, RouteKind, More?])[])
    t.equal(kindOf(request, more), kind, `${request} ${Object.keys(more ?? {}).join()}`);
});

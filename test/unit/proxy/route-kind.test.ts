/** Which kind of route a request has, as a table of all cases. */

import t from 'tap';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { routeKind } from '../../../src/proxy/route-kind.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';
import { keystoneIdentity } from '../../support/identities.ts';
import { ownAPIOf } from '../../support/own-api.ts';
import { rows } from '../../support/rows.ts';

const shared = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
const arktos = createArktosMode({ systemTenant: 'system', domains: { ops: 'system' }, showsOwnTenant: true });
const ownAPI = ownAPIOf();
const OWN = '/apis/stonegate.dev/v1alpha1';

/** @param circumstances of `arktos`, `ops`, `crossing` and `upgrade`; else acme's user in shared mode */
function kindOf(request: string, circumstances: string) {
  const given = new Set(circumstances.split(' '));
  const mode = given.has('arktos') ? arktos : shared;
  const [method = '', target = ''] = request.split(' ');
  const identity = keystoneIdentity('alice', { home: given.has('ops') ? 'ops' : 'acme' });
  const tenant = mode.tenantOf(identity);
  const info = readRequestInfo(method, target, mode.facts);
  const exchange = { method, ...(given.has('upgrade') && { upgrade: {} }) };
  const route =
    ownAPI.route(info, method, tenant) ?? mode.route(info, method, tenant, mode.userOf(identity, tenant));
  const crossing = given.has('crossing') && { crossing: {} };
  return routeKind({ info, exchange, tenant, ...crossing }, route, mode);
}

const KINDS = rows(`
GET /api/v1/namespaces/n/pods | forward
GET /api/v1/namespaces/n/pods/p | forward
POST /api/v1/namespaces/n/pods | forward
GET /api/v1/namespaces/n/pods?watch=1 | forward
GET /version | forward
GET /api/v1/namespaces | namespaces
GET /api/v1/namespaces?watch=1 | namespaces
GET /api/v1/watch/namespaces/n | namespaces
GET /api/v1/namespaces?fieldSelector=metadata.name%3Dn | namespaces
HEAD /api/v1/namespaces | forward
POST /api/v1/namespaces | forward
DELETE /api/v1/namespaces | forward
GET /api/v1/namespaces/n | forward
GET /api/v1/namespaces/n/status | forward
GET /api/v2/namespaces | forward
GET /api/v1/namespaces | namespaces | arktos
GET /api/v1/namespaces | forward | arktos ops
GET /api/v1/namespaces | forward | arktos crossing
GET /api/v1/namespaces | forward | upgrade
GET /api/v1/namespaces?watch=1 | namespaces | upgrade
GET /api/v1/pods | all-namespaces
GET /api/v1/watch/pods | all-namespaces
GET /apis/example.com/v1/namespaces | all-namespaces
GET /api/v1/nodes | all-namespaces
GET /api/v1/pods?fieldSelector=metadata.name%3Dx | forward
HEAD /api/v1/pods | forward
DELETE /api/v1/pods | forward
POST /api/v1/pods | forward
GET /api/v1/pods | forward | arktos crossing
GET /api/v1/pods | forward | upgrade
GET /api/v1/pods?watch=1 | all-namespaces | upgrade
GET /api/v1/namespaces/n/pods?watch=1 | forward | upgrade
GET /apis | group-list
HEAD /apis/ | group-list
GET /openapi/v3?hash=1 | group-list
POST /apis | forward
GET /apis | forward | upgrade
GET /apis/apps | forward
GET /apis | discovery | arktos
GET /apis | discovery | arktos crossing
GET /apis/stonegate.dev | own-discovery
GET ${OWN} | own-discovery
GET ${OWN}/selfidentity | own-api
POST ${OWN}/explanations | own-api
POST ${OWN}/resourceaccessreviews | own-api
POST ${OWN}/namespaces/n/localresourceaccessreviews | own-api
GET ${OWN}/selfaccessrules | own-api
POST ${OWN}/accessrulesreviews | own-api
POST /apis/authentication.k8s.io/v1/selfsubjectreviews | self-review
POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews | forward
POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews | self-review | arktos
POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews | guest-review | arktos crossing
GET /api/v1/tenants | own-tenant | arktos
GET /api/v1/tenants | all-namespaces | arktos ops`);

t.test('each request has the expected kind', async (t) => {
  for (const [request, kind, circumstances] of KINDS)
    t.equal(kindOf(request, circumstances), kind, `${request} ${circumstances}`);
});

/**
 * Whatever a client sends, Stonegate uses its own identity at the API server only for the documents that
 * every user may see and for reviews of a user’s rights in a valid tenant. A client cannot influence any
 * other part of such a request.
 */
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { accessReviewPath } from '../../src/app/build-features.ts';
import { createDiscoveryHandler } from '../../src/features/discovery/handle-discovery.ts';
import { createOwnTenant } from '../../src/features/own-tenant/build.ts';
import { createShownQuotas } from '../../src/features/quota/show-quota.ts';
import { createSelfReviewHandler } from '../../src/features/self-reviews/handle-self-review.ts';
import { createConnectCreate } from '../../src/features/tenant-boundary/connect-create.ts';
import { createPathBoundary } from '../../src/features/tenant-boundary/tenant-boundary.ts';
import { createUpgradePlaces } from '../../src/features/tenant-boundary/upgrade-places.ts';
import { createAccessReviewer } from '../../src/kubernetes/access-reviewer.ts';
import type { Exchange } from '../../src/lib/exchange.ts';
import { headerValue } from '../../src/lib/header-list.ts';
import { createOwnAPI } from '../../src/proxy/own-api.ts';
import { serveRequest } from '../../src/proxy/serve-request.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import { discoveryDocuments } from '../support/discovery.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { fakeExchange } from '../support/fake-exchange.ts';
import { fakePipeline } from '../support/fake-pipeline.ts';
import { keystoneIdentity } from '../support/identities.ts';
import { fakeFetcher } from '../support/outgoing.ts';
import { ownAPIHandler } from '../support/own-api.ts';
import { requestTarget } from '../support/request-lines.ts';

const SEGMENT = '[A-Za-z0-9._-]+';
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const TENANT_QUOTAS = '/apis/stonegate.dev/v1alpha1/tenantquotas';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** The system tenant shares one resource with all tenants, and does not share another. */
const definitions = {
  items: [
    { metadata: { name: 'a.shared.io', labels: { 'arktos.futurewei.com/crd-sharing-policy': 'Forced' } } },
    { metadata: { name: 'b.ops.io' } },
  ],
};
const groups = {
  kind: 'APIGroupList',
  groups: ['shared.io', 'ops.io'].map((name) => ({ name, versions: [{ version: 'v1' }] })),
};
/** Patterns of the method and the whole target. */
const CLOSED_LIST = [
  /^GET \/(?:api|api\/v1|openapi\/v2|openapi\/v3|version)$/,
  new RegExp(`^GET /openapi/v3(?:/${SEGMENT})*/?$`),
  new RegExp(`^GET /apis(?:/${SEGMENT}){0,2}\\?tenant=${LABEL}$`),
  new RegExp(`^GET ${DEFINITIONS}$`),
  /^GET \/api\/v1\/tenants\/acme$/,
  /^GET \/apis\/tenancy\.stonegate\.dev\/v1alpha1\/tenants\/system\/namespaces\/stonegate\/tenantquotas\/acme$/,
  new RegExp(`^GET /apis/${SEGMENT}/${SEGMENT}$`),
  /^GET \/(?:healthz|livez|readyz)$/,
  new RegExp(`^POST /apis/authorization\\.k8s\\.io/v1/(?:tenants/${LABEL}/)?subjectaccessreviews$`),
];

const mode = createArktosMode({ systemTenant: 'system', domains: { ops: 'system' }, showsOwnTenant: true });

const QUOTAS = { tenant: 'system', namespace: 'stonegate' };

/** Serves one request and returns what was sent to the API server without impersonation. */
async function askedAsStonegate(home: string, exchange: Exchange): Promise<string[]> {
  const fetcher = fakeFetcher(({ method, target }) => {
    if (method === 'POST') return { status: 403, body: {} };
    if (target === DEFINITIONS) return { status: 200, body: definitions };
    return target === '/apis?tenant=acme' ? { status: 200, body: groups } : { status: 404, body: {} };
  });
  const reviewer = createAccessReviewer({ fetcher, path: accessReviewPath });
  const clock = createFakeClock();
  const { documents, cache } = discoveryDocuments(fetcher, mode, clock, 0);
  const { ownResources = [] } = createShownQuotas(QUOTAS, { mode, upstream: fetcher, clock });
  const pipeline = fakePipeline({
    clock,
    mode,
    ownAPI: createOwnAPI(ownResources),
    authenticators: [{ name: 'fake', authenticate: async () => keystoneIdentity('eve', { home }) }],
    authorizers: [
      createUpgradePlaces(mode),
      createPathBoundary({ isSystem: mode.isSystem }),
      createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant }),
    ],
    handlers: {
      ...ownAPIHandler(Object.fromEntries(ownResources.map(({ name, handle }) => [name, handle]))),
      discovery: createDiscoveryHandler(documents),
      ...createOwnTenant({ upstream: fetcher, discovery: { cache }, clock }).handlers,
      'self-review': createSelfReviewHandler({
        fetcher,
        reviewer,
        mode,
        clock,
        limits: { bodyBytes: 1 << 16, bodyTimeout: 1 },
      }),
    },
  });
  await serveRequest(exchange, pipeline);
  return fetcher.asked
    .filter(({ headers }) => headerValue(headers, 'impersonate-user') === undefined)
    .map(({ method, target }) => `${method} ${target}`);
}

const evil = fc.oneof(
  fc.constantFrom(
    'globex',
    'all',
    'acme?x',
    'acme%3Fx',
    'a/../b',
    '%23',
    '#',
    'a b',
    '\u200b',
    'A',
    '..',
    '',
  ),
  fc.string({ maxLength: 8 }),
);
const query = fc
  .array(
    fc.oneof(
      evil,
      fc
        .tuple(fc.constantFrom('tenant', 'verbose', 'exclude', 'hash', 'timeout'), evil)
        .map((p) => p.join('=')),
    ),
    { maxLength: 4 },
  )
  .map((pairs) => encodeURI(pairs.join('&').toWellFormed()).replaceAll('#', ''));
const document = fc.oneof(
  fc.constantFrom(
    '/api',
    '/api/v1',
    '/apis',
    '/openapi/v2',
    '/openapi/v3',
    '/version',
    '/healthz',
    '/readyz',
  ),
  fc.tuple(fc.constantFrom('/apis', '/openapi/v3', '/apis/apps'), evil).map(([path, name]) => {
    return `${path}/${encodeURI(name.toWellFormed()).replaceAll('#', '')}`;
  }),
);
const inTenant = fc
  .tuple(evil, fc.constantFrom('exec', 'attach', 'portforward'))
  .map(
    ([name, act]) => `/api/v1/tenants/${encodeURIComponent(name.toWellFormed())}/namespaces/n/pods/p/${act}`,
  );
const review = fc.constantFrom(
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1/tenants/globex/selfsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1beta1/selfsubjectrulesreviews',
);
const tenants = fc
  .tuple(fc.constantFrom('acme', 'globex', ''), fc.oneof(evil, fc.constantFrom('status', 'tenants/acme')))
  .map(([name, rest]) => `/api/v1/tenants/${name}${encodeURI(rest.toWellFormed()).replaceAll('#', '')}`);
const quotas = fc
  .tuple(fc.constantFrom('', '/acme', '/globex'), evil)
  .map(([name, rest]) => `${TENANT_QUOTAS}${name}${encodeURI(rest.toWellFormed()).replaceAll('#', '')}`);
const target = fc.oneof(
  tenants,
  quotas,
  requestTarget,
  fc.tuple(fc.oneof(document, inTenant, review), query).map((parts) => parts.join('?')),
  inTenant,
  review,
);

/**
 * One request for each pattern of the list, since random requests do not match every pattern in every run.
 */
type Example = [home: string, method: string, path: string, tenant: string, protocol: string | undefined];
const ONE_OF_EACH: Example[] = [
  '/api',
  '/openapi/v3/apis/apps/v1',
  '/apis',
  '/readyz?verbose',
  '/api/v1/tenants/acme',
  `${TENANT_QUOTAS}/acme`,
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
].flatMap((path) =>
  ['GET', 'POST'].map((method) => ['acme', method, path, 'acme', undefined] satisfies Example),
);

t.test('Stonegate uses its own identity only for requests on the closed list', async (t) => {
  const asked = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('acme', 'ops'),
      fc.constantFrom('GET', 'HEAD', 'POST'),
      target,
      evil,
      fc.constantFrom(undefined, 'websocket', 'spdy/3.1'),
      async (home, method, path, tenant, protocol) => {
        const exchange = fakeExchange({
          method,
          target: path,
          headers: [['Authorization', 'Bearer x']],
          body: JSON.stringify({ spec: { resourceAttributes: { tenant, verb: 'get', resource: 'pods' } } }),
          ...(protocol === undefined
            ? {}
            : { upgrade: { protocol, socket: new Duplex(), head: Buffer.alloc(0) } }),
        });
        const targets = await askedAsStonegate(home, exchange);
        for (const line of targets) asked.add(line);
        return targets.every((line) => CLOSED_LIST.some((pattern) => pattern.test(line)));
      },
    ),
    { numRuns: 2_000, examples: ONE_OF_EACH },
  );
  for (const pattern of CLOSED_LIST)
    t.ok(
      [...asked].some((line) => pattern.test(line)),
      `a request matched ${pattern}`,
    );
});

/**
 * No request line makes the upstream path leave the tenant: whatever a user of the tenant acme sends is
 * either refused, or read by an Arktos API server as acme's, as one of the cluster-scoped resources it guards
 * itself, or as one of the documents that every user may see.
 */
import fc from 'fast-check';
import t from 'tap';
import { runAuthorizers } from '../../src/authorization/authorizer.ts';
import { createTenantBoundary } from '../../src/authorization/tenant-boundary.ts';
import { StatusError } from '../../src/errors/status-error.ts';
import { readRequestInfo } from '../../src/pipeline/request/request-info.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import type { Route } from '../../src/tenancy/tenancy-mode.ts';
import { readAsArktos } from '../support/arktos-reading.ts';
import { askedExchange } from '../support/fake-exchange.ts';
import { keystoneIdentity } from '../support/identities.ts';
import { method, requestTarget } from '../support/request-lines.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const boundary = createTenantBoundary({ isSystem: mode.isSystem });
const alice = keystoneIdentity('alice');
const tenant = mode.tenantOf(alice);
const user = mode.userOf(alice, tenant);

/** Resources that Arktos keeps outside of tenants; the impersonated user has no right to any. */
const CLUSTER_SCOPED = [
  /^ (nodes|tenants|componentstatuses|storageclusters|datapartitionconfigs|controllerinstances)$/,
  /^(scheduling\.k8s\.io priorityclasses|node\.k8s\.io runtimeclasses|storage\.k8s\.io csi(drivers|nodes))$/,
  /^admissionregistration\.k8s\.io (mutating|validating)webhookconfigurations$/,
];
const DOCUMENTS =
  /^\/(api(\/v1)?|apis(\/[^/%?#]+){0,2}|openapi\/v2|openapi\/v3(\/.*)?|version|healthz|livez|readyz)$/;

async function routeOf(verb: string, target: string): Promise<Route | undefined> {
  try {
    const info = readRequestInfo(verb, target, { readsTenantFromPath: true });
    const sender = { kind: 'stonegate' } as const;
    await runAuthorizers([boundary], { exchange: askedExchange(verb), info, user, tenant, sender });
    return mode.route(info, verb, tenant, user);
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

function staysInside(route: Route): boolean {
  if (route.kind === 'discovery') return DOCUMENTS.test(route.path) && namesOnlyOwnTenant(route);
  const reading = readAsArktos(route.path);
  if (reading === undefined) return false;
  if (reading.tenant !== '') return reading.tenant === 'acme';
  const bareWatch = reading.resource === '';
  return bareWatch || CLUSTER_SCOPED.some((pattern) => pattern.test(`${reading.group} ${reading.resource}`));
}

/** However the server splits the query, it finds our tenant on `/apis` and none elsewhere. */
function namesOnlyOwnTenant({ path, query }: Route): boolean {
  const expected = path.startsWith('/apis') ? ['acme'] : [];
  return [query, query.replaceAll(';', '&')].every((text) => {
    const named = new URLSearchParams(text).getAll('tenant');
    return named.length === expected.length && named.every((value, index) => value === expected[index]);
  });
}

t.test('no request line leaves the tenant', async (t) => {
  let forwarded = 0;
  await fc.assert(
    fc.asyncProperty(method, requestTarget, async (verb, target) => {
      const route = await routeOf(verb, target);
      if (route !== undefined) forwarded += 1;
      return route === undefined || staysInside(route);
    }),
    { numRuns: 5_000 },
  );
  t.ok(forwarded > 200, 'enough of them were well-formed for the property to mean something');
});

t.test('what goes out is what came in, byte for byte, but for the tenant', async (t) => {
  let rewritten = 0;
  await fc.assert(
    fc.asyncProperty(requestTarget, async (target) => {
      const route = await routeOf('GET', target);
      if (route === undefined || route.kind === 'discovery') return true;
      const sent = route.query === '' ? route.path : `${route.path}?${route.query}`;
      const came = target.replace(/\?$/, '');
      if (sent === came) return true;
      rewritten += 1;
      const at = sent.indexOf('tenants/acme/');
      return sent.slice(0, at) + sent.slice(at + 'tenants/acme/'.length) === came;
    }),
    { numRuns: 3_000 },
  );
  t.ok(rewritten > 100, 'enough of them were rewritten');
});

/**
 * No request line makes the upstream path leave the tenant: a request of a user of acme is refused, or an
 * Arktos API server reads it as one of acme, of a cluster-scoped resource that Arktos guards itself, or of a
 * document that every user may see. The same holds for the one tenant that the prefix of the path addresses,
 * if a policy lets the user enter every tenant.
 */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { createPathBoundary } from '../../src/features/tenant-boundary/tenant-boundary.ts';
import { runAuthorizers } from '../../src/proxy/authorizer.ts';
import { crossingOf, guestRules } from '../../src/proxy/crossing.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import type { Policies } from '../../src/proxy/tenant-entry.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import type { Route } from '../../src/tenancy/tenancy-mode.ts';
import { readAsArktos } from '../support/arktos-reading.ts';
import { askedExchange } from '../support/fake-exchange.ts';
import { keystoneIdentity } from '../support/identities.ts';
import { method, requestTarget } from '../support/request-lines.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const boundary = createPathBoundary({ isSystem: mode.isSystem });
const alice = keystoneIdentity('alice');
const tenant = mode.tenantOf(alice);
const user = mode.userOf(alice, tenant);
const policy = { form: 'abac', name: 'every', source: 'the test' } as const;
const everyTenant: Policies = {
  permits: () => ({ policy }),
  admitting: () => [policy],
};

/** Resources that Arktos stores outside of tenants; the impersonated user has no rights to them. */
const CLUSTER_SCOPED = [
  /^ (nodes|tenants|componentstatuses|storageclusters|datapartitionconfigs|controllerinstances)$/,
  /^(scheduling\.k8s\.io priorityclasses|node\.k8s\.io runtimeclasses|storage\.k8s\.io csi(drivers|nodes))$/,
  /^admissionregistration\.k8s\.io (mutating|validating)webhookconfigurations$/,
];
const DOCUMENTS =
  /^\/(api(\/v1)?|apis(\/[^/%?#]+){0,2}|openapi\/v2|openapi\/v3(\/.*)?|version|healthz|livez|readyz)$/;

const sender = { kind: 'stonegate' } as const;

interface Routed {
  readonly route: Route;
  /** The tenant in which the request is made. */
  readonly acting: string;
  /** The prefix of the path, which is not forwarded. */
  readonly prefix: string;
}

/** @param policies that let users enter other tenants */
async function routeOf(verb: string, target: string, policies?: Policies): Promise<Routed | undefined> {
  try {
    const info = readRequestInfo(verb, target, { hasTenantsInPaths: true });
    const options = { mode, now: 0, ...(policies && { policies }) };
    const crossing = crossingOf({ info, identity: alice, sender }, tenant, user, options);
    const attributes = { exchange: askedExchange(verb), info, identity: alice, user, tenant, sender };
    await runAuthorizers([boundary], { ...attributes, ...(crossing && { crossing }) });
    const guests = crossing && guestRules(mode);
    const acting = crossing?.tenant ?? tenant;
    const route = (guests ?? mode).route(info, verb, acting, user);
    return { route, acting, prefix: info.addressed?.prefix ?? '' };
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

function staysInside({ route, acting }: Routed): boolean {
  if (route.kind === 'discovery') return DOCUMENTS.test(route.path) && namesOnlyOneTenant(route, acting);
  const reading = readAsArktos(route.path);
  if (reading === undefined) return false;
  if (reading.tenant !== '') return reading.tenant === acting;
  const bareWatch = reading.resource === '';
  return bareWatch || CLUSTER_SCOPED.some((pattern) => pattern.test(`${reading.group} ${reading.resource}`));
}

/** However the server splits the query, it finds this tenant on `/apis` and no tenant elsewhere. */
function namesOnlyOneTenant({ path, query }: Route, acting: string): boolean {
  const expected = path.startsWith('/apis') ? [acting] : [];
  return [query, query.replaceAll(';', '&')].every((text) => {
    const named = new URLSearchParams(text).getAll('tenant');
    return named.length === expected.length && named.every((value, index) => value === expected[index]);
  });
}

t.test('no request line reaches outside the tenant', async (t) => {
  let forwarded = 0;
  await fc.assert(
    fc.asyncProperty(method, requestTarget, async (verb, target) => {
      const routed = await routeOf(verb, target);
      if (routed !== undefined) forwarded += 1;
      return routed === undefined || (routed.acting === 'acme' && staysInside(routed));
    }),
    { numRuns: 5_000 },
  );
  t.ok(forwarded > 200, 'enough request lines were well-formed');
});

/** Paths of guests, which begin with the prefix of a tenant more often than others. */
const below = fc
  .tuple(fc.constantFrom('/tenants/globex', '/tenants/initech', '', '/tenants/system'), requestTarget)
  .map(([prefix, target]) => `${prefix}${target}`);

t.test('no request line of a guest reaches outside the tenant that its prefix addresses', async (t) => {
  let entered = 0;
  await fc.assert(
    fc.asyncProperty(method, below, async (verb, target) => {
      const routed = await routeOf(verb, target, everyTenant);
      if (routed === undefined) return true;
      const { acting, prefix } = routed;
      if (acting === 'acme') return staysInside(routed);
      entered += 1;
      const isAddressed = prefix === `/tenants/${acting}` && target.startsWith(prefix);
      return isAddressed && acting !== 'system' && acting !== 'all' && staysInside(routed);
    }),
    { numRuns: 5_000 },
  );
  t.ok(entered > 100, 'enough request lines entered a tenant');
});

t.test('in shared mode no path begins with a tenant', async () => {
  await fc.assert(
    fc.asyncProperty(method, requestTarget, async (verb, target) => {
      try {
        const info = readRequestInfo(verb, target, { hasTenantsInPaths: false });
        return info.addressed === undefined && !/^\/tenants(?:\/|$)/.test(info.rawPath);
      } catch (error) {
        if (error instanceof StatusError) return true;
        throw error;
      }
    }),
    { numRuns: 2_000 },
  );
});

t.test('the target is forwarded byte for byte, except for the tenant and the prefix', async (t) => {
  let rewritten = 0;
  await fc.assert(
    fc.asyncProperty(requestTarget, async (target) => {
      const routed = await routeOf('GET', target, everyTenant);
      if (routed === undefined || routed.route.kind === 'discovery') return true;
      const { route, prefix } = routed;
      const inserted = `tenants/${routed.acting}/`;
      const sent = route.query === '' ? route.path : `${route.path}?${route.query}`;
      if (!target.startsWith(prefix)) return false;
      const came = target.slice(prefix.length).replace(/\?$/, '');
      if (sent === came) return true;
      rewritten += 1;
      const at = sent.indexOf(inserted);
      return sent.slice(0, at) + sent.slice(at + inserted.length) === came;
    }),
    { numRuns: 3_000 },
  );
  t.ok(rewritten > 100, 'enough targets were rewritten');
});

/**
 * Which tenant a JWT's holder belongs to. An issuer's word alone never makes a tenant: it is fixed in the
 * configuration, or a claim chooses among those the configuration lists. The tenants that stand for the cluster
 * itself come only from a map, where the operator has written down both sides.
 */
import type { JWTTenant } from '../api/config-v1alpha1.ts';
import { StatusError } from '../errors/status-error.ts';
import type { JSONObject } from '../lib/json-object.ts';
import { quoted, requireVerified, stringClaim, UnusableClaims, unusable } from './jwt-claims.ts';

const CLUSTER = new Set(['system', 'all']);

/**
 * @throws StatusError TenantUnknown where the token chooses none, or one that is not listed
 */
export function tenantOfClaims(claims: JSONObject, tenant: JWTTenant): string {
  if ('value' in tenant) return requireOrdinary(tenant.value);
  const chosen = choice(claims, tenant.claim);
  const claim = `the token's claim ${quoted(tenant.claim)}`;
  if (chosen === undefined || chosen === '') {
    throw unknown(
      `${claim}, which chooses the tenant, is missing: log in with an account of your organization`,
    );
  }
  if ('map' in tenant) {
    const mapped = Object.hasOwn(tenant.map, chosen) ? tenant.map[chosen] : undefined;
    if (mapped !== undefined) return mapped;
  } else if (tenant.allow.includes(chosen)) {
    return requireOrdinary(chosen);
  }
  throw unknown(
    `no tenant is configured for the value of ${claim}: ask the operator of this cluster to add it`,
  );
}

/** An address that is not verified must not choose a tenant. */
function choice(claims: JSONObject, claim: string): string | undefined {
  try {
    requireVerified(claims, claim);
    return stringClaim(claims, claim);
  } catch (error) {
    throw error instanceof UnusableClaims ? unusable(error.message) : error;
  }
}

function requireOrdinary(tenant: string): string {
  if (!CLUSTER.has(tenant)) return tenant;
  throw unknown(`the tenant "${tenant}" is given only by an entry of the issuer's tenant.map`);
}

function unknown(message: string): StatusError {
  return new StatusError('TenantUnknown', message);
}

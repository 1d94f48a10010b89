/**
 * A tenancy mode that finds out once, not at each request, which tenant and which user an identity makes. Sound because
 * identities do not change and a mode is pure; the mode of a new configuration remembers nothing of the old one's.
 */
import type { Identity } from '../api/identity.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { TenancyMode } from './tenancy-mode.ts';

export function rememberedMode(mode: TenancyMode): TenancyMode {
  const tenantOf = memoizeByReference((identity: Identity) => mode.tenantOf(identity));
  const userOf = memoizeByReference((identity: Identity) => mode.userOf(identity, tenantOf(identity)));
  return {
    ...mode,
    tenantOf,
    userOf: (identity, tenant) =>
      tenant === tenantOf(identity) ? userOf(identity) : mode.userOf(identity, tenant),
  };
}

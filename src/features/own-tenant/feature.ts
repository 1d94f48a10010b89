/**
 * Shows users of an Arktos tenant their own Tenant object with `kubectl get tenants`.
 */
import type { Feature } from '../../proxy/feature.ts';
import type { ProxyParts } from '../build.ts';
import { createOwnTenantHandler } from './handle-own-tenant.ts';

export function createOwnTenant({ clock, discovery, upstream }: ProxyParts): Feature {
  const handler = createOwnTenantHandler({ clock, cache: discovery.cache, fetcher: upstream });
  return { handlers: { 'own-tenant': handler } };
}

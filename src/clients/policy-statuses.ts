/**
 * Writes conditions of CrossTenantPolicies and TenantAdministrations through their status subresource, with
 * the provisioning credential. Arktos has no apply patch, so it is a merge patch (RFC 7396).
 */
import { TENANCY_API_VERSION } from '../api/tenancy-v1alpha1.ts';
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import type { PolicyStatusWriter } from '../policy/ports.ts';
import { forbidden, unexpected } from './cluster-object-response.ts';

/** @param systemTenant to which objects without a tenant belong */
export function createPolicyStatusWriter(fetcher: UpstreamFetcher, systemTenant: string): PolicyStatusWriter {
  return {
    async write({ kind, metadata }, conditions, signal) {
      const { name, tenant = systemTenant, resourceVersion } = metadata;
      const place = [tenant, RESOURCES[kind], name].map(encodeURIComponent).join('/');
      const target = `/apis/${TENANCY_API_VERSION}/tenants/${place}/status`;
      const response = await fetcher.fetch(
        {
          account: STONEGATE_ACCOUNT,
          sender: { kind: 'stonegate' },
          method: 'PATCH',
          target,
          headers: [
            ['Accept', 'application/json'],
            ['Content-Type', 'application/merge-patch+json'],
          ],
          // With the resourceVersion: an object of the same name may be another one by now.
          body: JSON.stringify({ metadata: { resourceVersion }, status: { conditions } }),
        },
        signal,
      );
      if (response.status === 200) return 'written';
      if (response.status === 404) return 'gone';
      if (response.status === 409) return 'conflict';
      const what = `PATCH ${target}`;
      throw response.status === 403 ? forbidden(response, what) : unexpected(response, what);
    },
  };
}

const RESOURCES = {
  CrossTenantPolicy: 'crosstenantpolicies',
  TenantAdministration: 'tenantadministrations',
} as const;

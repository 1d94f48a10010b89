/**
 * Tells features what a tenant's discovery documents say of a resource.
 */
import type { TenantName } from '../kubernetes/request-info.ts';
import type { Account } from '../kubernetes/upstream-request.ts';
import type { ResourceDescription } from '../tenancy/reduce-discovery.ts';

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export interface DiscoveredResources {
  /**
   * A resource as the tenant's discovery describes it. A document without it is asked for anew, since it may
   * be older than the resource. So is one that was made while the system tenant's share in it could not be
   * read.
   *
   * @param account to which a document that has to be fetched is charged; the tenant's by default
   * @returns undefined if the tenant has no such resource
   * @throws StatusError UpstreamTimeout, UpstreamRefusedCredential, TenantRateExceeded; UpstreamUnavailable
   *   also if the system tenant's share cannot be read
   */
  resource(
    tenant: TenantName,
    groupVersion: GroupVersion,
    name: string,
    signal: AbortSignal,
    account?: Account,
  ): Promise<ResourceDescription | undefined>;
  /**
   * The version of an API group that clients use.
   *
   * @param group as a client sent it
   * @returns undefined if the tenant has no such group
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, TenantRateExceeded
   */
  preferredVersion(tenant: TenantName, group: string, signal: AbortSignal): Promise<string | undefined>;
}

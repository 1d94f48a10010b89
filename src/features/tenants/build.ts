/**
 * Knows the tenants of the API server in each process.
 */
import { ComponentType } from '../../config/component.ts';
import { Informers } from '../../kubernetes/informers.ts';
import { KINDS } from '../../kubernetes/kubernetes-object.ts';
import type { ReceivedObject } from '../../kubernetes/list-watch.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import type { FeatureBuild } from '../build.ts';
import { createComponentWithInformers, INFORMS } from '../component-with-informers.ts';
import { readTenant, TenantStore, type TenantUIDs, WITHOUT_TENANT_UIDS } from '../tenant-uids.ts';
import type { TenantsParts } from './feature.ts';

interface KnownTenants {
  readonly tenants: TenantStore;
  readonly informers: Informers;
}

const KNOWN_TENANTS = new ComponentType<KnownTenants>('tenants', INFORMS);

export function createTenantUIDs({
  parts,
  scope,
  runtime,
  provisioningUpstream: upstream,
}: FeatureBuild<TenantsParts>): TenantUIDs {
  if (parts.tenants === undefined || upstream === undefined) return WITHOUT_TENANT_UIDS;
  return createComponentWithInformers(scope, KNOWN_TENANTS, parts.tenants, upstream, () => {
    const tenants = new TenantStore();
    const informers = new Informers({ ...runtime, upstream, name: 'tenants' });
    const read = ({ value }: ReceivedObject) => readTenant(value);
    informers.add({ path: collectionPath(KINDS.Tenant, {}), read, store: tenants });
    return { tenants, informers };
  }).tenants;
}

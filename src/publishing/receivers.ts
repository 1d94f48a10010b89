/**
 * Who receives copies: each tenant (arktos), or each namespace that provisioning made for a project (shared).
 * Only Stonegate's labels make a namespace a tenant's; docs/publishing.md says who may set them.
 */
import { DOMAIN_ID, hasManagedLabel, PROJECT_ID } from '../api/managed-labels.ts';
import { isOneTenant, isReservedNamespace } from '../api/reserved-names.ts';
import type { Place, PublishedObject } from './ports.ts';
import type { SelectedTenant } from './tenant-selector.ts';

export interface Receiver extends SelectedTenant {
  /** Of a tenant, or a namespace. */
  readonly place: Place;
  /** Nothing is written into it or deleted from it. */
  readonly isTerminating: boolean;
}

/** @param tenants every Tenant object */
export function tenantReceivers(tenants: readonly PublishedObject[], systemTenant: string): Receiver[] {
  return tenants
    .filter(({ metadata: { name } }) => name !== systemTenant && isOneTenant(name))
    .map((object) => ({
      name: object.metadata.name,
      labels: object.metadata.labels ?? {},
      place: { tenant: object.metadata.name },
      isTerminating: isTerminating(object),
    }));
}

/**
 * @param namespaces every Namespace object
 * @param publishing the namespaces of the sources, which receive nothing
 */
export function namespaceReceivers(
  namespaces: readonly PublishedObject[],
  publishing: readonly string[],
): Receiver[] {
  return namespaces.flatMap((object) => {
    const { name, labels = {} } = object.metadata;
    const domain = labels[DOMAIN_ID];
    const isProjects =
      hasManagedLabel(object.metadata) && (labels[PROJECT_ID] ?? '') !== '' && (domain ?? '') !== '';
    if (!isProjects || domain === undefined || publishing.includes(name) || isReservedNamespace(name))
      return [];
    return [{ name: domain, labels, place: { namespace: name }, isTerminating: isTerminating(object) }];
  });
}

/** Of a Tenant or a Namespace. */
export function isTerminating({ metadata, status }: PublishedObject): boolean {
  const phase = typeof status === 'object' && status !== null && 'phase' in status ? status.phase : undefined;
  return metadata.deletionTimestamp !== undefined || phase === 'Terminating';
}

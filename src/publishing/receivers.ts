/**
 * Who receives copies: each tenant (arktos), or each namespace that provisioning made for a project (shared).
 * Only Stonegate's labels make a namespace a tenant's; docs/publishing.md says who may set them.
 */
import type { Place, PublishedObject } from './ports.ts';
import type { SelectedTenant } from './tenant-selector.ts';

export interface Receiver extends SelectedTenant {
  /** Of a tenant, or a namespace. */
  readonly place: Place;
  /** Nothing is written into it or deleted from it. */
  readonly isTerminating: boolean;
}

const MANAGED_BY = 'stonegate.dev/managed-by';
const PROJECT_ID = 'stonegate.dev/project-id';
const DOMAIN_ID = 'stonegate.dev/domain-id';
const RESERVED_NAMESPACE = /^(?:default$|kube-|stonegate(?:-|$))/;

/** @param tenants every Tenant object */
export function tenantReceivers(tenants: readonly PublishedObject[], systemTenant: string): Receiver[] {
  return tenants
    .filter(({ metadata: { name } }) => name !== systemTenant && name !== 'all')
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
      labels[MANAGED_BY] === 'stonegate' && (labels[PROJECT_ID] ?? '') !== '' && (domain ?? '') !== '';
    if (!isProjects || domain === undefined || publishing.includes(name) || RESERVED_NAMESPACE.test(name))
      return [];
    return [{ name: domain, labels, place: { namespace: name }, isTerminating: isTerminating(object) }];
  });
}

/** Of a Tenant or a Namespace. */
export function isTerminating({ metadata, status }: PublishedObject): boolean {
  const phase = typeof status === 'object' && status !== null && 'phase' in status ? status.phase : undefined;
  return metadata.deletionTimestamp !== undefined || phase === 'Terminating';
}

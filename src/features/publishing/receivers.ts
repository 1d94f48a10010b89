/**
 * Who receives copies: each tenant (arktos), or each namespace that provisioning made for a project (shared).
 * Only Stonegate's labels make a namespace a tenant's; docs/publishing.md says who may set them.
 */

import type { Place, StoredObject } from '../../kubernetes/kubernetes-object.ts';
import { DOMAIN_ID, hasManagedLabel, PROJECT_ID } from '../../kubernetes/managed-labels.ts';
import { isOneTenant, isReservedNamespace } from '../../kubernetes/reserved-names.ts';
import { isEqual } from '../../lib/json-equal.ts';
import type { SelectedTenant } from './tenant-selector.ts';

export interface Receiver extends SelectedTenant {
  /** The place of a tenant, or a namespace. */
  readonly place: Place;
  /** Nothing is written into it or deleted from it. */
  readonly isTerminating: boolean;
  /** The uid of the Tenant or Namespace object. */
  readonly uid: string | undefined;
}

/** A selector of namespaces may only ask for labels that tenants cannot set. */
const GUARDED_LABEL = /^(?:stonegate\.dev\/|kubernetes\.io\/metadata\.name$)/;

/** @param tenants every Tenant object */
export function tenantReceivers(tenants: readonly StoredObject[], systemTenant: string): Receiver[] {
  return tenants
    .filter(({ metadata: { name } }) => name !== systemTenant && isOneTenant(name))
    .map((object) => ({
      name: object.metadata.name,
      labels: object.metadata.labels ?? {},
      place: { tenant: object.metadata.name },
      isTerminating: isTerminating(object),
      uid: object.metadata.uid,
    }));
}

/**
 * @param namespaces every Namespace object
 * @param publishing the namespaces of the sources, which receive nothing
 */
export function namespaceReceivers(
  namespaces: readonly StoredObject[],
  publishing: readonly string[],
): Receiver[] {
  return namespaces.flatMap((object) => {
    const { name, labels = {} } = object.metadata;
    const domain = labels[DOMAIN_ID];
    const isProjects =
      hasManagedLabel(object.metadata) && (labels[PROJECT_ID] ?? '') !== '' && (domain ?? '') !== '';
    if (!isProjects || domain === undefined || publishing.includes(name) || isReservedNamespace(name))
      return [];
    return [
      {
        name: domain,
        labels: guardedLabels(labels),
        place: { namespace: name },
        isTerminating: isTerminating(object),
        uid: object.metadata.uid,
      },
    ];
  });
}

/**
 * Whether the receiver is still the one that was selected: a tenant or namespace of the same name may be
 * another one by now, or have other labels.
 *
 * @param object the Tenant or Namespace now
 */
export function isReceiver({ uid, labels, place }: Receiver, object: StoredObject | undefined): boolean {
  if (object === undefined || object.metadata.uid !== uid || isTerminating(object)) return false;
  const now = object.metadata.labels ?? {};
  return isEqual(place.tenant === undefined ? guardedLabels(now) : now, labels);
}

/** Whether no tenant's user may set the label of a namespace. */
export function isGuardedLabel(key: string): boolean {
  return GUARDED_LABEL.test(key);
}

export function guardedLabels<T>(labels: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => isGuardedLabel(key)));
}

/** Whether a Tenant or a Namespace is being deleted. */
export function isTerminating({ metadata, status }: StoredObject): boolean {
  const phase = typeof status === 'object' && status !== null && 'phase' in status ? status.phase : undefined;
  return metadata.deletionTimestamp !== undefined || phase === 'Terminating';
}

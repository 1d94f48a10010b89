/**
 * Which tenants the API server has, by their UIDs, in the tenancy mode in which tenants are objects (arktos).
 * What Stonegate stores for a tenant has the tenant's UID as a label, so that a tenant which is made anew
 * under the name of a deleted one inherits nothing.
 */
import type { InformerList, InformerStore } from '../kubernetes/informer-store.ts';
import { KINDS } from '../kubernetes/kubernetes-object.ts';
import { MalformedObject, readRevision } from '../kubernetes/list-watch.ts';
import { metadataOf } from '../kubernetes/object-format.ts';
import type { Objects } from '../kubernetes/objects.ts';
import { parseTimestamp } from '../lib/go-time.ts';
import { fieldAt } from '../lib/json-object.ts';

const TENANT_UID = 'stonegate.dev/tenant-uid';

/** What is stored for a tenant. */
export interface TenantOwned {
  readonly tenant: string;
  /** Undefined if the tenant was not known when the object was made, by an earlier version for example. */
  readonly tenantUID: string | undefined;
  /** By the API server's clock, in milliseconds since the epoch. */
  readonly createdAt: number;
}

export interface TenantUIDs {
  /** Whether the object is known to have been made for another tenant, deleted since, of the same name. */
  isFormer(owned: TenantOwned): boolean;
  /** Another object whenever `isFormer` may answer differently for what is stored for the tenant. */
  stateOf(tenant: string): object | undefined;
  /**
   * The labels of what is stored for the tenant now. The API server is asked for a tenant that is not known
   * yet.
   *
   * @throws StatusError as `Objects.get` does
   */
  labelsFor(
    tenant: string,
    objects: Pick<Objects, 'get'>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>>;
}

/** Where tenants are no objects, their names are all that there is. */
export const WITHOUT_TENANT_UIDS: TenantUIDs = {
  isFormer: () => false,
  stateOf: () => undefined,
  labelsFor: async () => ({}),
};

interface TenantIdentity {
  readonly uid: string;
  /** In milliseconds since the epoch. */
  readonly createdAt: number;
}

interface ReadTenant extends TenantIdentity {
  readonly name: string;
  readonly revision: number;
}

/** @param value a stored object; without a time of creation it is older than every tenant */
export function ownershipOf(value: unknown): Omit<TenantOwned, 'tenant'> {
  const { creationTimestamp, labels } = metadataOf(value);
  const uid = fieldAt(labels, TENANT_UID);
  return {
    tenantUID: typeof uid === 'string' ? uid : undefined,
    createdAt: createdAt(creationTimestamp) ?? 0,
  };
}

function createdAt(timestamp: unknown): number | undefined {
  return typeof timestamp === 'string' ? parseTimestamp(timestamp) : undefined;
}

/** Whether the object was made for this tenant; without a UID its age decides. */
export function isOwnedBy({ tenantUID, createdAt }: TenantOwned, tenant: TenantIdentity): boolean {
  return tenantUID === undefined ? createdAt >= tenant.createdAt : tenantUID === tenant.uid;
}

/** @param value a Tenant. @throws MalformedObject */
export function readTenant(value: unknown): ReadTenant {
  const { name, uid, resourceVersion, creationTimestamp } = metadataOf(value);
  const created = createdAt(creationTimestamp);
  if (typeof name !== 'string' || typeof uid !== 'string' || uid === '' || created === undefined)
    throw new MalformedObject('a tenant has no name, UID or time of creation');
  return { name, uid, createdAt: created, revision: readRevision(resourceVersion) };
}

interface TenantState extends TenantIdentity {
  readonly isDeleted: boolean;
}

/** A tenant that is on no list stays as it was: only the event of its deletion ends it. */
export class TenantStore implements InformerStore<ReadTenant>, TenantUIDs {
  readonly #revisions = new Map<string, number>();
  readonly #states = new Map<string, TenantState>();
  #isListed = false;

  isFormer(owned: TenantOwned): boolean {
    const state = this.#states.get(owned.tenant);
    return state !== undefined && (state.isDeleted || !isOwnedBy(owned, state));
  }

  stateOf(tenant: string): object | undefined {
    return this.#states.get(tenant);
  }

  async labelsFor(tenant: string, objects: Pick<Objects, 'get'>, signal: AbortSignal) {
    const state = this.#states.get(tenant);
    if (state?.isDeleted === false) return { [TENANT_UID]: state.uid };
    // As long as the list is refused, or not read yet, what is stored has no UID.
    const found = this.#isListed ? await objects.get(KINDS.Tenant, {}, tenant, signal) : undefined;
    return found?.metadata.uid === undefined ? {} : { [TENANT_UID]: found.metadata.uid };
  }

  revisionOf({ name }: ReadTenant): number | undefined {
    return this.#revisions.get(name);
  }

  put({ name, uid, createdAt, revision }: ReadTenant): void {
    this.#revisions.set(name, revision);
    const known = this.#states.get(name);
    if (known?.uid !== uid || known.isDeleted) this.#states.set(name, { uid, createdAt, isDeleted: false });
  }

  delete({ name, uid, createdAt }: ReadTenant): void {
    this.#revisions.delete(name);
    this.#states.set(name, { uid, createdAt, isDeleted: true });
  }

  beginList(): InformerList<ReadTenant> {
    return {
      take: (tenants) => {
        for (const tenant of tenants) this.put(tenant);
      },
      end: () => {
        this.#isListed = true;
      },
    };
  }
}

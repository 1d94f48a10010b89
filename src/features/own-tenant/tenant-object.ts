/**
 * A Tenant object of Arktos as users of the tenant see it: its name, its phase and how old it is. The rest is
 * the operator's.
 */

import { ARKTOS_AGE, ARKTOS_NAME, column } from '../../kubernetes/lists/namespace-columns.ts';
import type { ResponseForm } from '../../kubernetes/lists/response-form.ts';
import { ageAt } from '../../lib/go-time.ts';
import { isJSONObject } from '../../lib/json-object.ts';

export interface TenantSummary {
  readonly name: string;
  readonly uid: string;
  /** RFC 3339. */
  readonly creationTimestamp: string;
  /** `Active` or `Terminating`. */
  readonly phase: string;
}

/** @returns undefined for what is no Tenant object of that name */
export function readTenant(object: unknown, name: string): TenantSummary | undefined {
  if (!isJSONObject(object) || object.kind !== 'Tenant' || !isJSONObject(object.metadata)) return undefined;
  const { uid, creationTimestamp } = object.metadata;
  if (object.metadata.name !== name || typeof uid !== 'string' || typeof creationTimestamp !== 'string')
    return undefined;
  const { phase } = isJSONObject(object.status) ? object.status : {};
  return { name, uid, creationTimestamp, phase: typeof phase === 'string' ? phase : '' };
}

/** @param now milliseconds since the epoch, for the age */
export function tenantDocument(tenant: TenantSummary, form: ResponseForm, now: number): object {
  switch (form.kind) {
    case 'objects':
      return { kind: 'Tenant', apiVersion: 'v1', ...objectOf(tenant) };
    case 'metadata':
      return partialOf(tenant, form.version);
    case 'table':
      return tableOf([tenant], form, now);
  }
}

/** A list of the tenant, or of none. */
export function tenantListDocument(
  tenants: readonly TenantSummary[],
  form: ResponseForm,
  now: number,
): object {
  switch (form.kind) {
    case 'objects':
      return { kind: 'TenantList', apiVersion: 'v1', metadata: {}, items: tenants.map(objectOf) };
    case 'metadata': {
      const { version } = form;
      const items = tenants.map((tenant) => partialOf(tenant, version));
      return { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}`, metadata: {}, items };
    }
    case 'table':
      return tableOf(tenants, form, now);
  }
}

function metadataOf({ name, uid, creationTimestamp }: TenantSummary): object {
  return { name, uid, creationTimestamp };
}

function objectOf(tenant: TenantSummary): object {
  return { metadata: metadataOf(tenant), spec: {}, status: { phase: tenant.phase } };
}

function partialOf(tenant: TenantSummary, version: string): object {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: metadataOf(tenant),
  };
}

/** The API server's table has the storage cluster too, which is the operator's. */
const COLUMNS = [ARKTOS_NAME, column('Status', 'The status of the tenant'), ARKTOS_AGE];

type TableForm = Extract<ResponseForm, { kind: 'table' }>;

function tableOf(tenants: readonly TenantSummary[], { version, include }: TableForm, now: number): object {
  const rows = tenants.map((tenant) => ({
    cells: [tenant.name, tenant.phase, ageAt(now, tenant.creationTimestamp)],
    object:
      include === 'None'
        ? null
        : include === 'Object'
          ? { kind: 'Tenant', apiVersion: 'v1', ...objectOf(tenant) }
          : partialOf(tenant, version),
  }));
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: {},
    columnDefinitions: COLUMNS,
    rows,
  };
}

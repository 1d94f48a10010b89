/**
 * A Tenant object of Arktos as users of the tenant see it: its name, its phase and how old it is. The rest is
 * the operator's: the API server's table has the storage cluster too.
 */
import { isJSONObject } from '../../lib/json-object.ts';
import type { OwnObject } from '../../proxy/response/own-objects.ts';
import type { SingleObjectKind } from '../../proxy/response/single-object.ts';

interface TenantSummary extends OwnObject {
  /** `Active` or `Terminating`. */
  readonly status: { readonly phase: string };
}

export const TENANT: Omit<SingleObjectKind<TenantSummary>, 'fetch'> = {
  apiVersion: 'v1',
  kind: 'Tenant',
  resource: 'tenants',
  columns: [['Status', 'The status of the tenant', ({ status }) => status.phase]],
  phase: ({ status }) => status.phase,
  read({ status }, metadata) {
    const { phase } = isJSONObject(status) ? status : {};
    return { metadata, spec: {}, status: { phase: typeof phase === 'string' ? phase : '' } };
  },
};

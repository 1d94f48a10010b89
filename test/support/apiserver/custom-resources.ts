/**
 * How Arktos shares custom resource definitions: those of the system tenant with the label that forces them
 * are served in every tenant, and no tenant may overwrite them. Compared with the recordings of
 * `test/conformance/arktos`.
 */
import { isForced, isListedInTenants } from './cluster.ts';
import type { Exchange } from './exchange.ts';
import { ensureObject, type JsonObject } from './json.ts';
import type { Kind } from './kinds.ts';
import { ApiError, invalid } from './statuses.ts';
import type { Location } from './store.ts';

const SYSTEM = 'system';
const SCOPES: ReadonlySet<string> = new Set(['Cluster', 'Tenant', 'Namespaced']);

/** The system tenant's definition if it is forced; otherwise the tenant's own. */
export function definitionIn({ cluster, tenant }: Exchange, kind: Kind, location: Location): Location {
  const ofSystem = { ...location, tenant: SYSTEM };
  if (!isSharing(cluster.flavour, kind, tenant)) return location;
  const forced = cluster.store.get(ofSystem);
  return forced !== undefined && isForced(forced) ? ofSystem : location;
}

/** The definitions that precede the tenant's own in a list, whatever the client selects. */
export function forcedAmong({ cluster, tenant, path }: Exchange, kind: Kind): JsonObject[] {
  if (!isSharing(cluster.flavour, kind, tenant) || tenant === 'all' || path.verb !== 'list') return [];
  return cluster.store
    .list({ group: kind.storageGroup, resource: kind.resource, tenant: SYSTEM })
    .map(({ object }) => object)
    .filter(isListedInTenants);
}

/** @throws ApiError 500 with the message of a real server, without reason and details */
export function refuseOverwriting(
  exchange: Exchange,
  kind: Kind,
  name: string,
  action: 'create' | 'change' | 'delete',
) {
  const own = exchange.cluster.locate(kind, exchange.tenant, '', name);
  if (kind.scope === 'namespaced' || definitionIn(exchange, kind, own).tenant === own.tenant) return;
  const messages = {
    create: `There is already a system forced CRD with the name ${name} `,
    change: `${name} is a system CRD, you cannot overwrite it.`,
    delete: `Forbidden: ${name} is a system CRD, it can only be deleted by a cluster admin.`,
  };
  throw new ApiError(500, undefined, messages[action]);
}

/** @throws ApiError 422 for an unknown scope and, in v1, for a missing one */
export function admitScope(kind: Kind, name: string, version: string, spec: JsonObject) {
  // Only v1beta1 has a default.
  if (spec.scope === undefined && version === 'v1beta1') spec.scope = 'Namespaced';
  const { scope } = spec;
  if (typeof scope === 'string' && SCOPES.has(scope)) return;
  throw invalid(kind.group, kind.kind, name, {
    field: 'spec.scope',
    reason: scope === undefined ? 'FieldValueRequired' : 'FieldValueNotSupported',
    message:
      scope === undefined
        ? 'Required value'
        : `Unsupported value: ${JSON.stringify(scope)}: supported values: "Cluster", "Tenant", "Namespaced"`,
  });
}

/**
 * Renames members to the field that a case-insensitive reader takes them for; the last one counts. A real
 * server is case-sensitive; the worst reader is assumed here, so that tests show what reaches it.
 */
export function foldScope(definition: JsonObject) {
  fold(definition, 'spec');
  fold(ensureObject(definition, 'spec'), 'scope');
}

function fold(object: JsonObject, field: string) {
  for (const [key, value] of Object.entries(object)) {
    if (key === field || key.toLowerCase() !== field) continue;
    delete object[key];
    object[field] = value;
  }
}

export function isDefinition({ group, resource }: Kind) {
  return group === 'apiextensions.k8s.io' && resource === 'customresourcedefinitions';
}

function isSharing(flavour: string, kind: Kind, tenant: string) {
  return flavour === 'arktos' && isDefinition(kind) && tenant !== SYSTEM;
}

/**
 * What the API server refuses even if the user has the right: names, tenants and namespaces that do not
 * match.
 */
import type { Cluster } from './cluster.ts';
import { admitScope, foldScope, isDefinition } from './custom-resources.ts';
import { ensureObject, type JsonObject, objectAt, textAt } from './json.ts';
import type { Kind } from './kinds.ts';
import { badRequest, invalid, notAdmitted, notFound } from './statuses.ts';
import type { Location } from './store.ts';

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_MESSAGE =
  "a DNS-1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const KEPT_NAMESPACES = new Set(['default', 'kube-system', 'kube-public']);

export interface Candidate {
  readonly cluster: Cluster;
  readonly kind: Kind;
  /** The tenant of the request. */
  readonly tenant: string;
  readonly namespace: string;
  readonly version: string;
  readonly object: JsonObject;
  readonly isNew: boolean;
}

/** @throws ApiError 400, 403, 404 or 422 with the message of a real server */
export function admit({ cluster, kind, tenant, namespace, version, object, isNew }: Candidate) {
  const metadata = ensureObject(object, 'metadata');
  const name = textAt(metadata, 'name');
  const arktos = cluster.flavour === 'arktos';
  if (arktos && kind.scope !== 'cluster') {
    const named = textAt(metadata, 'tenant');
    if (named !== '' && named !== tenant)
      throw badRequest('the tenant of the provided object does not match the tenant sent on the request');
  }
  if (kind.scope === 'namespaced') {
    const named = textAt(metadata, 'namespace');
    if (named !== '' && named !== namespace)
      throw badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      );
  }
  if (name === '')
    throw invalid(kind.group, kind.kind, name, {
      field: 'metadata.name',
      reason: 'FieldValueRequired',
      message: 'Required value: name or generateName is required',
    });
  if (isDefinition(kind)) foldScope(object);
  if (arktos && isDefinition(kind)) admitScope(kind, name, version, ensureObject(object, 'spec'));
  if (!isNew) return;
  if (
    kind.group === '' &&
    (kind.resource === 'tenants' || kind.resource === 'namespaces') &&
    !LABEL.test(name)
  )
    throw invalid(kind.group, kind.kind, name, {
      field: 'metadata.name',
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${JSON.stringify(name)}: ${LABEL_MESSAGE}`,
    });
  if (
    kind.group === '' &&
    kind.resource === 'tenants' &&
    textAt(objectAt(object, 'spec'), 'storageClusterId') === ''
  )
    throw invalid(kind.group, kind.kind, name, {
      field: 'spec.storageClusterId',
      reason: 'FieldValueRequired',
      message: 'Required value: must specify storage cluster id',
    });
  if (arktos && kind.kind === 'DaemonSet' && tenant !== 'system')
    throw notAdmitted(kind.group, kind.resource, name, 'only system tenant is allowed to have DaemonSet');
  if (kind.scope === 'namespaced' && !hasNamespace(cluster, tenant, namespace))
    throw notFound('', 'namespaces', namespace);
}

function hasNamespace(cluster: Cluster, tenant: string, name: string) {
  const kind = cluster.kind('', 'v1', 'namespaces', tenant);
  return kind !== undefined && cluster.store.get(cluster.locate(kind, tenant, '', name)) !== undefined;
}

/** @throws ApiError 403 for objects that the cluster needs */
export function admitDeletion(kind: Kind, { name }: Location) {
  if (kind.group === '' && kind.resource === 'namespaces' && KEPT_NAMESPACES.has(name))
    throw notAdmitted('', 'namespaces', name, 'this namespace may not be deleted');
  if (kind.group === '' && kind.resource === 'tenants' && name === 'system')
    throw notAdmitted('', 'tenants', name, 'this tenant may not be deleted');
}

/** docs/reference/api.md: the resources of both API groups, from their schemas. */

import type { z } from 'zod';
import { DEFINITIONS } from '../src/app/configuration.ts';
import { TENANCY_API_VERSION } from '../src/kubernetes/custom-resource.ts';
import { methodsOf, OWN_GROUP, type OwnResource, ownPath } from '../src/proxy/own-api.ts';
import { schemaRows, withTable } from './configuration-reference.ts';

export const API_DOCUMENT = 'docs/reference/api.md';

const RIGHTS = {
  cluster: 'for the whole cluster, outside every tenant',
  tenant: "in the cluster, in arktos mode in the user's tenant",
};

/** The document with new tables. */
export function withAPITables(document: string): string {
  const own = DEFINITIONS.flatMap(({ ownResources = [] }) => ownResources).flatMap((resource) => [
    ...introduction(resource.kind, resource.description, requestsOf(resource)),
    ...fields(resource.schemas ?? {}),
  ]);
  const stored = DEFINITIONS.flatMap(({ storedKinds = [] }) => storedKinds).flatMap(
    ({ definition: resource }) => {
      const { kind, description, namespaced, spec, status } = resource;
      const place = namespaced ? 'namespaces/NAMESPACE' : 'tenants/TENANT';
      const path = `\`/apis/${TENANCY_API_VERSION}/${place}/${resource.resource}\``;
      return [...introduction(kind, description, path), ...fields({ spec, status })];
    },
  );
  const withOwn = withTable(document, `resources of ${OWN_GROUP}`, own.slice(0, -1));
  return withTable(withOwn, 'stored resources', stored.slice(0, -1));
}

function introduction(kind: string, description: string, requests: string): string[] {
  return [`### ${kind}`, '', description, '', requests, ''];
}

function requestsOf(resource: OwnResource): string {
  const { name, namespaced, right, needs } = resource;
  const path = ownPath(name, namespaced ? { namespace: 'NAMESPACE' } : {});
  const place = namespaced ? 'in the namespace' : RIGHTS[right ?? 'tenant'];
  const needed = right === undefined ? 'Every user may ask.' : `Needs \`create\` on \`${name}\` ${place}.`;
  const served = needs ? ` Served with \`${needs.setting}\`.` : '';
  return `\`${methodsOf(resource).join('`, `')}\` \`${path}\`. ${needed}${served}`;
}

function fields(schemas: Readonly<Record<string, z.ZodType>>): string[] {
  const rows = Object.entries(schemas).flatMap(([name, schema]) => schemaRows(schema, name));
  return ['| field | value | meaning |', '| --- | --- | --- |', ...rows, ''];
}

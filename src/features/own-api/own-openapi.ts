/**
 * The OpenAPI v3 document of Stonegate's own group: kubectl validates what it creates by it, and
 * `kubectl explain` prints it.
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3
 */
import type { z } from 'zod';
import { toKubernetesSchema } from '../../kubernetes/kubernetes-schema.ts';
import { OWN_GROUP, OWN_VERSION, type OwnResource, ownPath } from '../../proxy/own-api.ts';

type Schema = Readonly<Record<string, unknown>>;

const GVK = 'x-kubernetes-group-version-kind';
const text = (description: string): Schema => ({ type: 'string', description });

const ANY_OBJECT: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const BODY_FIELDS = { spec: ANY_OBJECT, status: ANY_OBJECT };
/** kubectl sends them with what it creates. */
const QUERY = ['dryRun', 'fieldManager', 'fieldValidation', 'pretty'].map((name) => ({
  name,
  in: 'query',
  schema: { type: 'string', uniqueItems: true },
}));

export function ownOpenAPI(resources: readonly OwnResource[]): object {
  return {
    openapi: '3.0.0',
    info: { title: 'Stonegate', version: OWN_VERSION },
    paths: Object.fromEntries(resources.map((resource) => [pathOf(resource), operationsOf(resource)])),
    components: {
      schemas: Object.fromEntries(resources.map((resource) => [schemaName(resource), schemaOf(resource)])),
    },
  };
}

function pathOf({ name, namespaced }: OwnResource): string {
  return ownPath(name, namespaced ? { namespace: '{namespace}' } : {});
}

function schemaName({ kind }: OwnResource): string {
  return `dev.stonegate.${OWN_VERSION}.${kind}`;
}

function gvkOf({ kind }: OwnResource) {
  return { group: OWN_GROUP, version: OWN_VERSION, kind };
}

function schemaOf(resource: OwnResource): Schema {
  const { description, schemas, verbs } = resource;
  const metadata = verbs.includes('list')
    ? ANY_OBJECT
    : { ...ANY_OBJECT, description: 'Nothing is stored, so none of it is used.' };
  return {
    type: 'object',
    description,
    properties: {
      apiVersion: text('The version of the object: stonegate.dev/v1alpha1.'),
      kind: text('The kind of the object.'),
      metadata,
      ...(schemas === undefined ? BODY_FIELDS : fieldsOf(schemas)),
    },
    [GVK]: [gvkOf(resource)],
  };
}

function fieldsOf(schemas: Readonly<Record<string, z.ZodType>>): Schema {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, toKubernetesSchema(schema)]),
  );
}

function operationsOf(resource: OwnResource): object {
  const schema = { $ref: `#/components/schemas/${schemaName(resource)}` };
  const content = { 'application/json': { schema } };
  const action = resource.verbs.includes('create') ? 'post' : 'get';
  const operation = {
    description: resource.description,
    operationId: `${action}Stonegate${resource.kind}`,
    tags: ['stonegate_v1alpha1'],
    [GVK]: gvkOf(resource),
    'x-kubernetes-action': action,
    ...(action === 'post' && { requestBody: { content, required: true } }),
    responses: { [action === 'post' ? 201 : 200]: { description: 'OK', content } },
  };
  const place = { name: 'namespace', in: 'path', required: true, schema: { type: 'string' } };
  return {
    [action]: operation,
    // Not served. kubectl reads here whether the server validates fields; else it asks for all definitions of
    // custom resources, which users may not list.
    ...(action === 'post' && { patch: { ...operation, 'x-kubernetes-action': 'patch', parameters: QUERY } }),
    parameters: [...(resource.namespaced ? [place] : []), ...QUERY],
  };
}

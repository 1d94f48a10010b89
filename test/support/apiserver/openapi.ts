/**
 * The OpenAPI v2 document as protobuf, the only form in which kubectl reads it: enough for `explain`, and for
 * validation to know the kinds. Schemas are left open, so that nothing valid is reported as unknown.
 * https://github.com/google/gnostic (openapiv2/OpenAPIv2.proto: Document, Schema)
 */
import type { Cluster } from './cluster.ts';
import type { Kind } from './kinds.ts';

export const OPENAPI_TYPE = 'application/octet-stream';

function varint(value: number) {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}

/** One length-delimited field: a string or a message. */
function field(number: number, value: string | Buffer) {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

const named = (name: string, value: Buffer) => Buffer.concat([field(1, name), field(2, value)]);
const typed = (type: string, description: string) =>
  Buffer.concat([field(4, description), field(22, field(1, type))]);

function schemaOf(kind: Kind, version: string) {
  const property = (name: string, schema: Buffer) => field(1, named(name, schema));
  const properties = Buffer.concat([
    property('apiVersion', typed('string', 'The group and version of this object.')),
    property('kind', typed('string', 'The kind of this object.')),
    property('metadata', typed('object', 'Name, namespace, labels and what else every object has.')),
    ...membersOf(kind).map((name) => property(name, typed('object', `The ${name} of the ${kind.kind}.`))),
  ]);
  const groupVersionKind = `- group: "${kind.group}"\n  kind: ${kind.kind}\n  version: ${version}\n`;
  return Buffer.concat([
    typed('object', `${kind.kind} of ${kind.group === '' ? 'the core group' : kind.group}.`),
    field(25, properties),
    field(31, named('x-kubernetes-group-version-kind', field(2, groupVersionKind))),
  ]);
}

function membersOf(kind: Kind) {
  switch (kind.kind) {
    case 'ConfigMap':
      return ['data', 'binaryData'];
    default:
      return ['spec', 'status'];
  }
}

/**
 * Kinds whose members the document knows all of. The others are left out: kubectl then does not check them.
 */
const DESCRIBED = new Set(['Pod', 'Namespace', 'ConfigMap', 'Deployment', 'Service', 'Tenant']);

export function openapiDocument(cluster: Cluster, tenant: string) {
  const definitions = cluster
    .kinds(tenant)
    .filter((kind) => DESCRIBED.has(kind.kind) || kind.custom)
    .flatMap((kind) =>
      kind.versions.map((version) => {
        const name = `${kind.group === '' ? 'core' : kind.group}.${version}.${kind.kind}`;
        return field(1, named(name, schemaOf(kind, version)));
      }),
    );
  const info = Buffer.concat([field(1, 'Stand-in'), field(2, 'v1')]);
  return Buffer.concat([field(1, '2.0'), field(2, info), field(9, Buffer.concat(definitions))]);
}

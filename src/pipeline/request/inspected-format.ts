/**
 * What the body of a request is, by its header and method, and how it is read for inspection. The header
 * fields are written anew for the API server, so that both read the body as the same thing. RFC 9110 §8.3,
 * §8.4;
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply
 */

import type { BodyAdmission, BodyFormat } from '../../admission/body-admission.ts';
import { malformed } from '../../admission/body-fields.ts';
import { JSON_TYPE, PROTOBUF_TYPE } from '../../api/meta-v1.ts';
import type { ResourceRequest } from '../../api/request-info.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import { parseStrictJSON } from '../../lib/strict-json.ts';
import { bodyType } from './body-type.ts';
import { parseYAMLBody } from './body-yaml.ts';

/** How a body is encoded, and what it means. */
export interface MediaType {
  readonly encoding: 'json' | 'yaml' | 'protobuf';
  readonly format: BodyFormat;
}

const OBJECT_TYPES: Readonly<Record<string, MediaType>> = {
  [JSON_TYPE]: { encoding: 'json', format: 'object' },
  'application/yaml': { encoding: 'yaml', format: 'object' },
  [PROTOBUF_TYPE]: { encoding: 'protobuf', format: 'object' },
};

const PATCH_TYPES: Readonly<Record<string, MediaType>> = {
  'application/json-patch+json': { encoding: 'json', format: 'json-patch' },
  'application/merge-patch+json': { encoding: 'json', format: 'merge-patch' },
  'application/strategic-merge-patch+json': { encoding: 'json', format: 'strategic-merge-patch' },
};

/** Enough for every custom resource definition that etcd takes. */
const JSON_LIMITS = { depth: 256, nodes: 250_000 };

/**
 * @param admissions all of them must be able to inspect it
 * @throws StatusError MediaTypeUnsupported for a body that cannot be inspected
 */
export function mediaTypeOf(
  method: string,
  headers: HeaderList,
  admissions: readonly BodyAdmission[],
): MediaType {
  const types = method === 'PATCH' ? PATCH_TYPES : OBJECT_TYPES;
  const accepted = Object.entries(types).filter(([, type]) => admissions.every((one) => reads(one, type)));
  return bodyType(headers, accepted);
}

function reads({ formats, decodeProtobuf }: BodyAdmission, { encoding, format }: MediaType): boolean {
  return formats.has(format) && (encoding !== 'protobuf' || decodeProtobuf !== undefined);
}

/** The field's value for the API server; YAML and protobuf are forwarded as JSON. */
export function forwardedType(format: BodyFormat): string {
  return format === 'object' ? JSON_TYPE : `application/${format}+json`;
}

/** @throws StatusError BodyMalformed */
export function parseBody(
  bytes: Buffer,
  { encoding }: MediaType,
  info: ResourceRequest,
  admissions: readonly BodyAdmission[],
): unknown {
  try {
    if (encoding === 'json') return parseStrictJSON(bytes, JSON_LIMITS);
    if (encoding === 'yaml') return parseYAMLBody(bytes);
    const decoder = admissions.find(({ decodeProtobuf }) => decodeProtobuf !== undefined);
    return decoder?.decodeProtobuf?.(bytes, info);
  } catch (cause) {
    const why = cause instanceof SyntaxError ? cause.message : `it is no ${encoding} of its kind`;
    throw malformed(why, cause);
  }
}

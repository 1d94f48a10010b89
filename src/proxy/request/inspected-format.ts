/**
 * What the body of a request is, by its header and method, and how it is read for inspection. The header
 * fields are written anew for the API server, so that both read the body as the same thing. RFC 9110 §8.3,
 * §8.4;
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply
 */
import { malformed } from '../../kubernetes/body-fields.ts';
import { decodeObject } from '../../kubernetes/kubernetes-protobuf.ts';
import { JSON_TYPE, PROTOBUF_TYPE } from '../../kubernetes/meta-v1.ts';
import { type HeaderList, headerValues } from '../../lib/header-list.ts';
import { type JSONLimits, parseStrictJSON } from '../../lib/strict-json.ts';
import type { BodyFormat, BodyRule } from '../body-rule.ts';
import { bodyType, unsupportedType } from './body-type.ts';
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

/** A binding of five thousand subjects has fewer values. */
const JSON_LIMITS: JSONLimits = { depth: 256, nodes: 40_000 };

/**
 * @param rules all of them must be able to inspect it
 * @throws StatusError MediaTypeUnsupported for a body that cannot be inspected
 */
export function mediaTypeOf(method: string, headers: HeaderList, rules: readonly BodyRule[]): MediaType {
  const types = method === 'PATCH' ? PATCH_TYPES : OBJECT_TYPES;
  const accepted = Object.entries(types).filter(([, { format }]) =>
    rules.every(({ formats }) => formats.has(format)),
  );
  return bodyType(headers, accepted);
}

/** Whether any of the fields names protobuf, however it is written. */
export function isProtobuf(headers: HeaderList): boolean {
  return headerValues(headers, 'content-type').some((type) => type.toLowerCase().includes(PROTOBUF_TYPE));
}

/** The field's value for the API server; YAML and protobuf are forwarded as JSON. */
export function forwardedType(format: BodyFormat): string {
  return format === 'object' ? JSON_TYPE : `application/${format}+json`;
}

/** How JSON is read that the rules inspect. */
export function jsonLimits(rules: readonly BodyRule[]): JSONLimits {
  const depths = rules.flatMap(({ depth }) => depth ?? []);
  return depths.length === 0 || depths.length < rules.length
    ? JSON_LIMITS
    : { ...JSON_LIMITS, depth: Math.max(...depths), deeper: 'digest' };
}

/** @throws StatusError BodyMalformed; MediaTypeUnsupported for protobuf of a kind that is not built in */
export function parseBody(bytes: Buffer, encoding: MediaType['encoding'], limits: JSONLimits): unknown {
  try {
    if (encoding === 'json') return parseStrictJSON(bytes, limits);
    if (encoding === 'yaml') return parseYAMLBody(bytes);
    const object = decodeObject(bytes);
    if (object !== undefined) return object;
  } catch (cause) {
    const why = cause instanceof SyntaxError ? cause.message : `it is no ${encoding} of its kind`;
    throw malformed(why, cause);
  }
  throw unsupportedType([JSON_TYPE]);
}

/**
 * Reads the body of a self review, JSON or protobuf, and builds a new one of the allowed fields only: the
 * review is made in the user's name, so nothing is forwarded that Stonegate has not read.
 */

import type { NonResourceAttributes, ResourceAttributes } from '../../api/authorization-v1.ts';
import { JSON_TYPE, PROTOBUF_TYPE } from '../../api/meta-v1.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { headerValue } from '../../lib/header-list.ts';
import { isTenantName } from '../../tenancy/tenant-name.ts';
import type { Exchange } from '../ports.ts';
import { type BodyLimits, readBody } from '../request/read-body.ts';
import { decodeReview } from './review-protobuf.ts';

/** What an access review asks: one of the two. */
export type AccessQuestion =
  | { readonly resourceAttributes: ResourceAttributes }
  | { readonly nonResourceAttributes: NonResourceAttributes };

type Fields = Readonly<Record<string, unknown>>;

const RESOURCE_FIELDS = [
  'tenant',
  'namespace',
  'verb',
  'group',
  'version',
  'resource',
  'subresource',
  'name',
] as const;
const NON_RESOURCE_FIELDS = ['path', 'verb'] as const;

/**
 * @returns the review's `spec`, empty if there is none
 * @throws StatusError MediaTypeUnsupported, BodyTooLarge, BodyTimeout, BodyMalformed
 */
export async function readReviewSpec(
  exchange: Exchange,
  review: 'access' | 'rules',
  limits: BodyLimits,
  clock: Clock,
): Promise<Fields> {
  const type = mediaTypeOf(exchange);
  const body = await readBody(exchange, { ...limits, what: 'a review of oneself' }, clock);
  const read = type === PROTOBUF_TYPE ? parseProtobuf(body, review) : parseJSON(body);
  const { spec = {} } = fieldsOf(read, 'the body');
  return fieldsOf(spec, 'spec');
}

/**
 * @throws StatusError BodyMalformed unless exactly one kind of attributes is given, all of them strings, and
 *   the tenant one that can be
 */
export function accessQuestion(spec: Fields): AccessQuestion {
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (isAbsent(resourceAttributes) === isAbsent(nonResourceAttributes)) {
    throw malformed('exactly one of spec.resourceAttributes and spec.nonResourceAttributes must be given');
  }
  return isAbsent(resourceAttributes)
    ? { nonResourceAttributes: strings(nonResourceAttributes, NON_RESOURCE_FIELDS) }
    : { resourceAttributes: withTenant(strings(resourceAttributes, RESOURCE_FIELDS)) };
}

function withTenant({
  tenant = '',
  ...attributes
}: Partial<Record<(typeof RESOURCE_FIELDS)[number], string>>): ResourceAttributes {
  if (tenant === '') return attributes;
  if (isTenantName(tenant)) return { ...attributes, tenant };
  throw malformed("the field tenant is no tenant's name");
}

/** @throws StatusError BodyMalformed */
export function rulesNamespace(spec: Fields): string {
  return strings(spec, ['namespace']).namespace ?? '';
}

/** @throws StatusError MediaTypeUnsupported for anything but plain JSON and protobuf */
function mediaTypeOf({ headers }: Exchange): string {
  const [type = ''] = (headerValue(headers, 'content-type') ?? JSON_TYPE).split(';', 1);
  const encoding = headerValue(headers, 'content-encoding') ?? 'identity';
  const name = type.trim().toLowerCase();
  if ((name === JSON_TYPE || name === PROTOBUF_TYPE) && encoding.toLowerCase() === 'identity') return name;
  throw new StatusError(
    'MediaTypeUnsupported',
    `the body of the request was in an unknown format - accepted media types include: ${JSON_TYPE}, ${PROTOBUF_TYPE}`,
  );
}

function parseJSON(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw malformed('the body is no JSON', cause);
  }
}

function parseProtobuf(body: Buffer, review: 'access' | 'rules'): unknown {
  try {
    return decodeReview(body, review);
  } catch (cause) {
    throw malformed('the body is no protobuf of its kind', cause);
  }
}

function strings<K extends string>(source: unknown, keys: readonly K[]): Partial<Record<K, string>> {
  const fields = fieldsOf(source, 'the attributes');
  const result: Partial<Record<K, string>> = {};
  for (const key of keys) {
    const value = fields[key];
    if (isAbsent(value)) continue;
    if (typeof value !== 'string') throw malformed(`the field ${key} is no string`);
    result[key] = value;
  }
  return result;
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed(`${what} is no object`);
  return Object.fromEntries(Object.entries(value));
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function malformed(why: string, cause?: unknown): StatusError {
  return new StatusError('BodyMalformed', `the review cannot be read: ${why}`, { cause });
}

/**
 * Reads an object that a client posts to Stonegate's own API, and writes the response. The object may hold a
 * credential, so a refusal repeats nothing of it.
 */
import { malformed, objectOf } from '../../admission/body-fields.ts';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { parseStrictJSON } from '../../lib/strict-json.ts';
import type { UpstreamResponse } from '../ports.ts';
import { bodyType } from '../request/body-type.ts';
import { type BodyLimits, readBody } from '../request/read-body.ts';
import type { Outgoing } from '../request-context.ts';

export interface OwnBodyOptions {
  readonly limits: BodyLimits;
  readonly clock: Clock;
}

export interface OwnKind {
  readonly kind: string;
  /** Names it in refusals: `an explanation`. */
  readonly what: string;
  /** That its `spec` may have. */
  readonly fields: readonly string[];
  /** Of the path; that of the object may be absent. */
  readonly namespace?: string;
}

/** A spec of any kind has less. */
const LIMITS = { depth: 8, nodes: 10_000 };
/** The API server's own words. */
const WRONG_NAMESPACE =
  'the namespace of the provided object does not match the namespace sent on the request';

/**
 * @returns the object's `spec`
 * @throws StatusError MediaTypeUnsupported, BodyMalformed, BodyTooLarge, BodyTimeout
 */
export async function readOwnSpec(
  { exchange }: Pick<Outgoing, 'exchange'>,
  { kind, what, fields, namespace = '' }: OwnKind,
  { limits, clock }: OwnBodyOptions,
): Promise<JSONObject> {
  bodyType(exchange.headers, [[JSON_TYPE, 'json']]);
  const body = objectOf(parse(await readBody(exchange, { ...limits, what }, clock)), 'the body');
  if (body.kind !== kind || body.apiVersion !== 'stonegate.dev/v1alpha1')
    throw malformed(`it is no ${kind} of stonegate.dev/v1alpha1`);
  const { namespace: named = '' } = objectOf(body.metadata ?? {}, 'metadata');
  if (namespace !== '' && named !== '' && named !== namespace)
    throw new StatusError('BodyMalformed', WRONG_NAMESPACE);
  const spec = objectOf(body.spec, 'spec');
  // A misspelt field would change what is asked.
  if (Object.keys(spec).some((name) => !fields.includes(name))) throw malformed('spec has an unknown field');
  return spec;
}

function parse(body: Buffer): unknown {
  try {
    return parseStrictJSON(body, LIMITS);
  } catch (error) {
    if (error instanceof SyntaxError) throw malformed(error.message);
    throw error;
  }
}

export function stringOf(value: unknown, what: string): string {
  if (typeof value !== 'string') throw malformed(`${what} is no string`);
  return value;
}

/** @returns undefined if the field is absent */
export function optionalString(spec: JSONObject, name: string): string | undefined {
  const value = spec[name];
  return value === undefined ? undefined : stringOf(value, `spec.${name}`);
}

/** 201, as for an object that is created. */
export function createdResponse(object: object): UpstreamResponse {
  return {
    status: 201,
    headers: [
      ['Content-Type', JSON_TYPE],
      ['Cache-Control', 'no-store'],
    ],
    body: Buffer.from(`${JSON.stringify(object)}\n`),
  };
}

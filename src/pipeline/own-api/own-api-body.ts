/**
 * Reads an object that a client posts to Stonegate's own API. It may hold a credential, so a refusal repeats
 * nothing of it.
 */
import { JSON_TYPE } from '../../api/meta-v1.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { headerValue } from '../../lib/header-list.ts';
import type { UpstreamResponse } from '../ports.ts';
import { type BodyLimits, readBody } from '../request/read-body.ts';
import type { Outgoing } from '../request-context.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface OwnBodyOptions {
  readonly limits: BodyLimits;
  readonly clock: Clock;
}

/**
 * @param kind of the object that is expected
 * @param what names it in refusals: `an explanation`
 * @returns its `spec`
 * @throws StatusError MediaTypeUnsupported, BodyMalformed, BodyTooLarge, BodyTimeout
 */
export async function readOwnSpec(
  { exchange }: Pick<Outgoing, 'exchange'>,
  kind: string,
  what: string,
  { limits, clock }: OwnBodyOptions,
): Promise<Fields> {
  assertJSON(headerValue(exchange.headers, 'content-type') ?? JSON_TYPE);
  const body = fieldsOf(parse(await readBody(exchange, { ...limits, what }, clock)), 'the body');
  if (body.kind !== kind || body.apiVersion !== 'stonegate.dev/v1alpha1')
    throw malformed(`it is no ${kind} of stonegate.dev/v1alpha1`);
  return fieldsOf(body.spec, 'spec');
}

function assertJSON(contentType: string): void {
  const [type = ''] = contentType.split(';', 1);
  if (type.trim().toLowerCase() === JSON_TYPE) return;
  throw new StatusError(
    'MediaTypeUnsupported',
    `the body of the request was in an unknown format - accepted media types include: ${JSON_TYPE}`,
  );
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // The parser's own message quotes what it read.
    throw malformed('it is no JSON');
  }
}

export function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed(`${what} is no object`);
  return Object.fromEntries(Object.entries(value));
}

export function textOf(value: unknown, what: string): string {
  if (typeof value !== 'string') throw malformed(`${what} is no string`);
  return value;
}

export function malformed(why: string): StatusError {
  return new StatusError('BodyMalformed', `the request cannot be answered: ${why}`);
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

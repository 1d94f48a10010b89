/**
 * Reads an object that a client sends to Stonegate's own API. The object may contain a credential, so
 * a refusal repeats nothing of it.
 */
import { z } from 'zod';
import { StatusError } from '../errors/status-error.ts';
import { malformed } from '../kubernetes/body-fields.ts';
import { JSON_TYPE } from '../kubernetes/meta-v1.ts';
import type { Clock } from '../lib/clock.ts';
import type { Exchange } from '../lib/exchange.ts';
import { parseJSON } from '../lib/parse-json.ts';
import { allParameters } from '../lib/query.ts';
import { OWN_API_VERSION, OWN_GROUP } from './own-api.ts';
import { bodyType } from './request/body-type.ts';
import { parseBody } from './request/inspected-format.ts';
import { type BodyLimits, readBody } from './request/read-body.ts';
import type { Identified } from './request-context.ts';

export interface OwnBodyOptions {
  readonly limits: BodyLimits;
  readonly clock: Clock;
}

const metadataSchema = z.object({
  name: z.string().optional(),
  namespace: z.string().optional(),
  resourceVersion: z.string().optional(),
});

/** An object as a client sends it. */
export interface GivenObject<S> {
  readonly metadata?: z.output<typeof metadataSchema> | null | undefined;
  readonly spec: S;
}

export interface OwnKind<S> {
  /** Names it in refusals: `an explanation`. */
  readonly what: string;
  readonly schema: z.ZodType<GivenObject<S>>;
}

export function ownKind<S>(kind: string, what: string, spec: z.ZodType<S>): OwnKind<S> {
  const schema = z.object({
    kind: z.literal(kind),
    apiVersion: z.literal(OWN_API_VERSION),
    metadata: metadataSchema.nullish(),
    spec,
  });
  return { what, schema };
}

/** A spec of any kind has less. */
const LIMITS = { depth: 8, nodes: 10_000 };
/** The API server's own words. */
const WRONG_NAMESPACE =
  'the namespace of the provided object does not match the namespace sent on the request';

/** @returns the object's `spec`, as `readOwnObject` reads it */
export async function readOwnSpec<S>(...given: Parameters<typeof readOwnObject<S>>): Promise<S> {
  return (await readOwnObject(...given)).spec;
}

/**
 * @param namespace of the path; that of the object may be absent
 * @throws StatusError MediaTypeUnsupported, BodyMalformed, BodyTooLarge, BodyTimeout
 */
export async function readOwnObject<S>(
  exchange: Exchange,
  { what, schema }: OwnKind<S>,
  { limits, clock }: OwnBodyOptions,
  namespace = '',
): Promise<GivenObject<S>> {
  bodyType(exchange.headers, [[JSON_TYPE, 'json']]);
  const body = parseBody(await readBody(exchange, { ...limits, what }, clock), 'json', LIMITS);
  const { data, error } = schema.safeParse(body);
  if (data === undefined) throw malformed(problemOf(error));
  const named = data.metadata?.namespace ?? '';
  if (namespace !== '' && named !== '' && named !== namespace)
    throw new StatusError('BodyMalformed', WRONG_NAMESPACE);
  return data;
}

/** The refusal of a field's value. kubectl prints nothing of a 422 but the field and the message. */
export function invalidObject(kind: string, field: string, message: string): StatusError {
  return new StatusError('ObjectInvalid', `${kind} is invalid: ${field}: ${message}`, {
    details: { group: OWN_GROUP, kind, causes: [{ reason: 'FieldValueInvalid', message, field }] },
  });
}

/** @throws StatusError ObjectInvalid for a value that the API server does not know either */
export function isDryRun(
  { rawQuery, verb }: Pick<Identified['info'], 'rawQuery' | 'verb'>,
  inBody: readonly string[] = [],
): boolean {
  const values = [...allParameters(rawQuery, 'dryRun'), ...inBody];
  if (values.every((value) => value === 'All')) return values.length > 0;
  throw invalidObject(
    `${verb.charAt(0).toUpperCase()}${verb.slice(1)}Options`,
    'dryRun',
    'Unsupported value: supported values: "All"',
  );
}

const deleteOptionsSchema = z.object({
  gracePeriodSeconds: z.number().nullish(),
  dryRun: z.array(z.string()).nullish(),
});

/**
 * kubectl puts a dry run into the body, and sends no grace period with `--force`.
 *
 * @throws StatusError BodyMalformed, BodyTooLarge, BodyTimeout, ObjectInvalid
 */
export async function readDeleteOptions(
  { exchange, info }: Pick<Identified, 'exchange' | 'info'>,
  { limits, clock }: OwnBodyOptions,
) {
  const body = await readBody(exchange, { ...limits, what: 'a deletion' }, clock);
  const data = body.length === 0 ? {} : parseJSON(body.toString(), deleteOptionsSchema);
  if (data === undefined) throw malformed('it is no DeleteOptions');
  return { force: data.gracePeriodSeconds === 0, dryRun: isDryRun(info, data.dryRun ?? []) };
}

/**
 * For what makes or ends a secret: a dry run would show one that opens nothing.
 *
 * @throws StatusError RequestMalformed; and as `readDeleteOptions` does
 */
export async function refuseDryRun(
  outgoing: Pick<Identified, 'exchange' | 'info'>,
  options: OwnBodyOptions,
): Promise<void> {
  const { exchange, info } = outgoing;
  const isDry =
    exchange.method === 'DELETE' ? (await readDeleteOptions(outgoing, options)).dryRun : isDryRun(info);
  if (isDry) throw new StatusError('RequestMalformed', 'a dry run of this is not supported');
}

/** The first problem. The names of unknown fields, and what is below the known ones, are the client's. */
function problemOf({ issues: [issue] }: Pick<z.ZodError, 'issues'>): string {
  const field = issue?.path.slice(0, 2).join('.');
  return issue?.code === 'unrecognized_keys'
    ? `${field} has an unknown field`
    : `${field}: ${issue?.message}`;
}

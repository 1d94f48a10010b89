/**
 * The options of a list or watch that Stonegate answers or sends to each namespace, read and validated as the
 * API server does. A parameter given twice is refused: two readers could take different ones.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#ListOptions
 */

import type { StatusCause } from '../../errors/status.ts';
import { StatusError } from '../../errors/status-error.ts';
import { allParameters, isSet } from '../../lib/query.ts';
import { isInt64 } from './label-syntax.ts';

export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** 0: all at once. */
  readonly limit: number;
  /** Empty on a first page. */
  readonly continue: string;
  /** A decimal number without leading zeros; `0` if none was sent. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
  readonly timeoutSeconds: number | undefined;
  readonly allowWatchBookmarks: boolean;
  /** Undefined if it was not sent. */
  readonly sendInitialEvents: boolean | undefined;
}

const PARAMETERS = [
  ...(['labelSelector', 'fieldSelector', 'limit', 'continue', 'watch', 'timeoutSeconds'] as const),
  ...(['resourceVersion', 'resourceVersionMatch', 'allowWatchBookmarks', 'sendInitialEvents'] as const),
  ...(['includeObject', 'pretty'] as const),
] as const;
type Parameter = (typeof PARAMETERS)[number];

/** @throws StatusError RequestMalformed, ListOptionsInvalid */
export function readListOptions(query: string, verb: 'list' | 'watch'): ListOptions {
  const given = new Map<Parameter, string | undefined>();
  for (const name of PARAMETERS) {
    const [value, ...others] = allParameters(query, name);
    if (others.length > 0) throw malformed(`the query has the parameter ${name} more than once`);
    given.set(name, value);
  }
  const text = (name: Parameter) => given.get(name) ?? '';
  const sendInitialEvents = given.get('sendInitialEvents');
  const version = text('resourceVersion');
  const match = text('resourceVersionMatch');
  const resumed = text('continue');
  const limit = numberIn(text('limit')) ?? 0;
  const timeoutSeconds = numberIn(text('timeoutSeconds'));
  const causes =
    verb === 'list'
      ? listProblems(match, version, resumed, sendInitialEvents)
      : watchProblems(match, resumed, sendInitialEvents);
  if (causes.length > 0) throw invalid(causes);
  if (verb === 'list' && resumed !== '' && version !== '' && version !== '0')
    throw malformed('specifying resource version is not allowed when using continue');
  return {
    labelSelector: text('labelSelector'),
    fieldSelector: text('fieldSelector'),
    limit: Math.min(Math.max(0, limit), Number.MAX_SAFE_INTEGER),
    continue: resumed,
    resourceVersion: version === '' ? '0' : revisionOf(version),
    resourceVersionMatch: match === 'Exact' || match === 'NotOlderThan' ? match : '',
    timeoutSeconds,
    allowWatchBookmarks: isSet(given.get('allowWatchBookmarks')),
    sendInitialEvents: sendInitialEvents === undefined ? undefined : isSet(sendInitialEvents),
  };
}

function numberIn(value: string): number | undefined {
  if (value === '') return undefined;
  if (isInt64(value)) return Number(value);
  const why = /^[+-]?[0-9]+$/.test(value) ? 'value out of range' : 'invalid syntax';
  throw malformed(`strconv.ParseInt: parsing ${JSON.stringify(value)}: ${why}`);
}

/** `ParseUint` of 64 bits. */
const MAX_REVISION = 2n ** 64n - 1n;

function revisionOf(text: string): string {
  const why = !/^[0-9]+$/.test(text)
    ? 'invalid syntax'
    : BigInt(text) > MAX_REVISION
      ? 'value out of range'
      : undefined;
  if (why === undefined) return String(BigInt(text));
  const quoted = JSON.stringify(text);
  throw malformed(
    `invalid resource version: resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`,
  );
}

const MATCH = 'resourceVersionMatch';
const CONTINUED = 'resourceVersionMatch is forbidden when continue is provided';

function listProblems(
  match: string,
  version: string,
  resumed: string,
  sendInitialEvents: string | undefined,
): StatusCause[] {
  const causes: StatusCause[] = [];
  if (match !== '') {
    if (version === '')
      causes.push(forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    if (resumed !== '') causes.push(forbidden(MATCH, CONTINUED));
    if (match !== 'Exact' && match !== 'NotOlderThan')
      causes.push(unsupported(MATCH, match, '"Exact", "NotOlderThan", ""'));
    if (match === 'Exact' && version === '0')
      causes.push(forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  if (sendInitialEvents !== undefined)
    causes.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  return causes;
}

function watchProblems(match: string, resumed: string, sendInitialEvents: string | undefined): StatusCause[] {
  const causes: StatusCause[] = [];
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan')
    causes.push(forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  if (match !== '') {
    if (sendInitialEvents === undefined)
      causes.push(
        forbidden(MATCH, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'),
      );
    if (match !== 'NotOlderThan') causes.push(unsupported(MATCH, match, '"NotOlderThan"'));
  }
  if (resumed !== '') causes.push(forbidden(MATCH, CONTINUED));
  return causes;
}

function forbidden(field: string, why: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field };
}

function unsupported(field: string, value: string, supported: string): StatusCause {
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`;
  return { reason: 'FieldValueNotSupported', message, field };
}

function invalid(causes: readonly StatusCause[]): StatusError {
  const texts = causes.map(({ field, message }) => `${field}: ${message}`);
  const why = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return new StatusError('ListOptionsInvalid', `ListOptions.meta.k8s.io "" is invalid: ${why}`, {
    details: { group: 'meta.k8s.io', kind: 'ListOptions', causes },
  });
}

function malformed(message: string): StatusError {
  return new StatusError('RequestMalformed', message);
}

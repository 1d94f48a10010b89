/**
 * Reads the body of an AccessRulesReview: which rules are asked for, and of whom. It may hold a token, so no
 * refusal repeats anything of it.
 */
import type { RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { headerValue } from '../../lib/header-list.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import { parseStrictJSON } from '../../lib/strict-json.ts';
import type { Exchange } from '../ports.ts';
import { type BodyLimits, readBody } from '../request/read-body.ts';
import { selectionOf } from './rules-request.ts';

/** As in a SubjectAccessReview: the groups are exactly these. */
export interface NamedSubject {
  readonly username: string;
  readonly groups: readonly string[];
}

export type ReviewedSubject = { readonly token: string } | NamedSubject;

export interface RulesReviewBody {
  readonly selection: RulesSelection;
  readonly subject: ReviewedSubject;
}

const LIMITS = { depth: 6, nodes: 10_000 };
const FIELDS = ['verb', 'apiGroup', 'resource', 'namespace', 'token', 'user', 'groups', 'uid', 'extra'];

/** @throws StatusError MediaTypeUnsupported, BodyTooLarge, BodyTimeout, BodyMalformed, RequestMalformed */
export async function readRulesReview(
  exchange: Exchange,
  limits: BodyLimits,
  clock: Clock,
): Promise<RulesReviewBody> {
  const [type = ''] = (headerValue(exchange.headers, 'content-type') ?? JSON_TYPE).split(';', 1);
  if (type.trim().toLowerCase() !== JSON_TYPE)
    throw new StatusError(
      'MediaTypeUnsupported',
      `the body of the request was in an unknown format - accepted media types include: ${JSON_TYPE}`,
    );
  const body = parse(await readBody(exchange, { ...limits, what: 'a review of access rules' }, clock));
  if (body.kind !== 'AccessRulesReview' || body.apiVersion !== 'stonegate.dev/v1alpha1')
    throw malformed('it is no AccessRulesReview of stonegate.dev/v1alpha1');
  const { spec } = body;
  if (!isJSONObject(spec)) throw malformed('spec is no object');
  // A misspelt field would widen what is asked for.
  if (Object.keys(spec).some((name) => !FIELDS.includes(name))) throw malformed('spec has an unknown field');
  const selection = selectionOf({
    verb: optionalText(spec, 'verb'),
    apiGroup: optionalText(spec, 'apiGroup'),
    resource: optionalText(spec, 'resource'),
    namespace: optionalText(spec, 'namespace'),
  });
  return { selection, subject: subjectOf(spec) };
}

function subjectOf(spec: JSONObject): ReviewedSubject {
  const token = optionalText(spec, 'token');
  const username = optionalText(spec, 'user');
  const { groups, uid, extra } = spec;
  if (token !== undefined) {
    if ([username, groups, uid, extra].some((value) => value !== undefined))
      throw malformed('spec has a token and a user; exactly one of them is to be given');
    if (token === '') throw malformed('spec.token is empty');
    return { token };
  }
  if (username === undefined || username === '') throw malformed('spec has neither a token nor a user');
  if (uid !== undefined && typeof uid !== 'string') throw malformed('spec.uid is no string');
  if (extra !== undefined && !isExtra(extra)) throw malformed('spec.extra is no map of lists of strings');
  if (groups !== undefined && !isTexts(groups)) throw malformed('spec.groups is no list of strings');
  return { username, groups: groups ?? [] };
}

function isExtra(value: unknown): boolean {
  return isJSONObject(value) && Object.values(value).every(isTexts);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function optionalText(spec: JSONObject, name: string): string | undefined {
  const value = spec[name];
  if (value === undefined || typeof value === 'string') return value;
  throw malformed(`spec.${name} is no string`);
}

function parse(body: Buffer): JSONObject {
  let value: unknown;
  try {
    value = parseStrictJSON(body, LIMITS);
  } catch (error) {
    // The parser's message repeats nothing of the text, but it is not needed either.
    if (error instanceof SyntaxError) throw malformed('it is no JSON that every parser reads alike');
    throw error;
  }
  if (isJSONObject(value)) return value;
  throw malformed('it is no object');
}

function malformed(why: string): StatusError {
  return new StatusError('BodyMalformed', `the review of access rules cannot be made: ${why}`);
}

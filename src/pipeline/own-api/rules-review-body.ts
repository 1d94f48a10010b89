/**
 * Reads the body of an AccessRulesReview: which rules are asked for, and of whom.
 */
import { malformed } from '../../admission/body-fields.ts';
import type { RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import type { Outgoing } from '../request-context.ts';
import { type OwnBodyOptions, optionalString, readOwnSpec } from './own-api-body.ts';
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

const REVIEW = {
  kind: 'AccessRulesReview',
  what: 'a review of access rules',
  fields: ['verb', 'apiGroup', 'resource', 'namespace', 'token', 'user', 'groups', 'uid', 'extra'],
} as const;

/** @throws StatusError MediaTypeUnsupported, BodyTooLarge, BodyTimeout, BodyMalformed, RequestMalformed */
export async function readRulesReview(
  outgoing: Pick<Outgoing, 'exchange'>,
  options: OwnBodyOptions,
): Promise<RulesReviewBody> {
  const spec = await readOwnSpec(outgoing, REVIEW, options);
  const selection = selectionOf({
    verb: optionalString(spec, 'verb'),
    apiGroup: optionalString(spec, 'apiGroup'),
    resource: optionalString(spec, 'resource'),
    namespace: optionalString(spec, 'namespace'),
  });
  return { selection, subject: subjectOf(spec) };
}

function subjectOf(spec: JSONObject): ReviewedSubject {
  const token = optionalString(spec, 'token');
  const username = optionalString(spec, 'user');
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

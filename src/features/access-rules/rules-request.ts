/**
 * Reads what a client asks for with a request for access rules: which rules, and of whom.
 */
import { z } from 'zod';
import { StatusError } from '../../errors/status-error.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { allParameters, parameterName } from '../../lib/query.ts';
import { type OwnBodyOptions, ownKind, problemOf, readOwnSpec } from '../../proxy/own-body.ts';
import type { RulesSelection } from './access-rules-v1alpha1.ts';

const LONGEST = 253;
const text = z.string().max(LONGEST);
const name = text.min(1, 'it is empty');
const SELECTION = {
  verb: name.default('*'),
  // The core group's name is empty.
  apiGroup: text.exactOptional(),
  resource: name.exactOptional(),
  namespace: name.exactOptional(),
};
const QUERY = z.object(SELECTION);
const NARROWING = ['verb', 'apiGroup', 'resource', 'namespace'] as const;
const KNOWN: ReadonlySet<string | undefined> = new Set([
  ...NARROWING,
  // Clients send these with any request.
  ...['limit', 'resourceVersion', 'resourceVersionMatch', 'timeout', 'pretty', 'includeObject'],
]);

/**
 * @throws StatusError RequestMalformed for a parameter that is unknown, since a misspelt one would widen the
 *   response, or that is given twice, too long or empty
 */
export function readRulesRequest(query: string): RulesSelection {
  const names = query
    .split('&')
    .filter((pair) => pair !== '')
    .map(parameterName);
  const unknown = names.find((name) => !KNOWN.has(name));
  if (unknown !== undefined) throw malformed(`"${unknown.slice(0, LONGEST)}" is unknown`);
  const given = NARROWING.map((name) => [name, allParameters(query, name)] as const);
  const twice = given.find(([, values]) => values.length > 1);
  if (twice !== undefined) throw malformed(`"${twice[0]}" is given twice`);
  const values = Object.fromEntries(
    given.flatMap(([name, [value]]) => (value === undefined ? [] : [[name, value]])),
  );
  const { data, error } = QUERY.safeParse(values);
  if (data === undefined) throw malformed(problemOf(error));
  return data;
}

function malformed(why: string): StatusError {
  return new StatusError('RequestMalformed', `the request for access rules is refused: ${why}`);
}

/** A subject as in a SubjectAccessReview: the groups are exactly these. */
export interface NamedSubject {
  readonly username: string;
  readonly groups: readonly string[];
}

export type ReviewedSubject = { readonly token: string } | NamedSubject;

export interface RulesReviewBody {
  readonly selection: RulesSelection;
  readonly subject: ReviewedSubject;
}

const texts = z.array(z.string());
const REVIEW = ownKind(
  'AccessRulesReview',
  'a review of access rules',
  z.union(
    [
      z
        .strictObject({ ...SELECTION, token: z.string().min(1, 'it is empty') })
        .transform(({ token, ...selection }): RulesReviewBody => ({ selection, subject: { token } })),
      z
        .strictObject({
          ...SELECTION,
          user: z.string().min(1, 'it is empty'),
          groups: texts.default([]),
          uid: z.string().optional(),
          extra: z.record(z.string(), texts).optional(),
        })
        .transform(
          ({ user: username, groups, uid: _uid, extra: _extra, ...selection }): RulesReviewBody => ({
            selection,
            subject: { username, groups },
          }),
        ),
    ],
    'it is no selection of rules with either a token or a user',
  ),
);

/** @throws StatusError MediaTypeUnsupported, BodyTooLarge, BodyTimeout, BodyMalformed */
export function readRulesReview(exchange: Exchange, options: OwnBodyOptions): Promise<RulesReviewBody> {
  return readOwnSpec(exchange, REVIEW, options);
}

/**
 * Reads what a client asks for with a request for access rules: which rules, and of whom.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { allParameters, parameterName } from '../../lib/query.ts';
import { type OwnBodyOptions, ownKind, readOwnSpec } from '../../proxy/own-body.ts';
import { accessRulesReviewSpecSchema, type RulesSelection } from './access-rules-v1alpha1.ts';

const NARROWING = ['verb', 'apiGroup', 'resource', 'namespace'] as const;
const KNOWN: ReadonlySet<string | undefined> = new Set([
  ...NARROWING,
  // Clients send these with any request.
  ...['limit', 'resourceVersion', 'resourceVersionMatch', 'timeout', 'pretty', 'includeObject'],
]);
const MAX_NAMED = 253;

/**
 * @throws StatusError RequestMalformed for a parameter that is unknown, since a misspelt one would widen the
 *   response, or that is given twice or empty
 */
export function readRulesRequest(query: string): RulesSelection {
  const names = query
    .split('&')
    .filter((pair) => pair !== '')
    .map(parameterName);
  const unknown = names.find((name) => !KNOWN.has(name));
  if (unknown !== undefined) throw malformed(`"${unknown.slice(0, MAX_NAMED)}" is unknown`);
  const [verb = '*', apiGroup, resource, namespace] = NARROWING.map((name) => {
    const values = allParameters(query, name);
    if (values.length > 1) throw malformed(`"${name}" is given twice`);
    // The core group's name is empty.
    if (values[0] === '' && name !== 'apiGroup') throw malformed(`"${name}" is empty`);
    return values[0];
  });
  return {
    verb,
    ...(apiGroup !== undefined && { apiGroup }),
    ...(resource !== undefined && { resource }),
    ...(namespace !== undefined && { namespace }),
  };
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

const REVIEW = ownKind(
  'AccessRulesReview',
  'a review of access rules',
  accessRulesReviewSpecSchema
    .refine(
      ({ verb, resource, namespace, token, user }) => ![verb, resource, namespace, token, user].includes(''),
      'it has an empty field',
    )
    .refine(
      ({ token, user, groups, uid, extra }) =>
        token === undefined
          ? user !== undefined
          : [user, groups, uid, extra].every((field) => field === undefined),
      'it is no selection of rules with either a token or a user',
    )
    .transform(
      ({
        token,
        user = '',
        groups = [],
        uid: _uid,
        extra: _extra,
        verb = '*',
        ...selection
      }): RulesReviewBody => ({
        selection: { verb, ...selection },
        subject: token === undefined ? { username: user, groups } : { token },
      }),
    ),
);

/** @throws StatusError MediaTypeUnsupported, BodyTooLarge, BodyTimeout, BodyMalformed */
export function readRulesReview(exchange: Exchange, options: OwnBodyOptions): Promise<RulesReviewBody> {
  return readOwnSpec(exchange, REVIEW, options);
}

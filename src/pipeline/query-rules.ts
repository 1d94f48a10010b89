/**
 * Which queries are read at all on the path of a resource. Go drops a pair that it cannot decode, keeps bytes that are
 * not UTF-8, and older releases separate pairs at `;` too: what Stonegate reads as a list could be a watch. So any
 * query that two readers could read differently is refused.
 * https://pkg.go.dev/net/url#ParseQuery
 */
import { StatusError } from '../errors/status-error.ts';

/** Go has a limit of its own, 10,000; no client comes near. Queries are read before their client is known. */
const MAX_PARAMETERS = 1_000;

/** @throws StatusError RequestMalformed */
export function assertQuery(query: string): void {
  if (query.length > MAX_PARAMETERS && query.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS)
    throw malformedQuery(`it has more than ${MAX_PARAMETERS} parameters`);
  if (query.includes(';')) throw malformedQuery('it holds a ";"');
  if (query.includes('%') && !isDecodable(query))
    throw malformedQuery('it holds a broken percent escape, or bytes that are no UTF-8');
}

export function malformedQuery(what: string): StatusError {
  return new StatusError('RequestMalformed', `the query is refused: ${what}`);
}

/** No escape reaches over a separator, so the pairs need not be taken apart. */
function isDecodable(query: string): boolean {
  try {
    decodeURIComponent(query);
    return true;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}

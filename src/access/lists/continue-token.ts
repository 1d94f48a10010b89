/**
 * Continue tokens of lists that Stonegate answers: sealed, so that a client can neither read nor change them,
 * and bound to what they continue. A token opens only for the same user, path and selectors.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import { StatusError } from '../../errors/status-error.ts';
import type { TokenSealer } from '../ports.ts';

/** What a token belongs to. */
export interface ContinueScope {
  /** The kind of list; a token of one kind is none of another. */
  readonly kind: string;
  /** Of the user whose list it is: equal for the same user. */
  readonly user: string;
  /** As the client sent it, without query. */
  readonly path: string;
  /** All parameters that select objects, in one order. */
  readonly selection: readonly string[];
}

/** The API server's own token within it has some hundred characters. */
const MAX_LENGTH = 8_192;

export function sealContinue(sealer: TokenSealer, scope: ContinueScope, payload: object): string {
  return sealer.seal(JSON.stringify(payload), contextOf(scope)).toString('base64url');
}

/**
 * @returns what was sealed
 * @throws StatusError RequestMalformed for a token that was not sealed for this scope
 */
export function openContinue(sealer: TokenSealer, scope: ContinueScope, token: string): unknown {
  const sealed = Buffer.from(token.slice(0, MAX_LENGTH), 'base64url');
  // Of several spellings of the same bytes only one is a token.
  const isToken = sealed.toString('base64url') === token;
  const text = isToken ? sealer.open(sealed, contextOf(scope)) : undefined;
  if (text === undefined) throw invalidContinue();
  const payload: unknown = JSON.parse(text);
  return payload;
}

export function invalidContinue(): StatusError {
  return new StatusError('RequestMalformed', 'continue key is not valid: it is of no list of yours');
}

function contextOf({ kind, user, path, selection }: ContinueScope): string[] {
  return ['continue', kind, user, path, ...selection];
}

/**
 * Continue tokens of lists that Stonegate answers. As the API server's they say where the list goes on, and
 * prove nothing: whatever a token says, a page shows what its user may see. A checksum detects a token of
 * another list, or a changed one.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import { hash } from 'node:crypto';
import { StatusError } from '../../errors/status-error.ts';
import { type JSONObject, readJSONObject } from '../../lib/json-object.ts';
import type { ListOptions } from './list-options.ts';

/** The user and the list that a token belongs to. */
export interface ContinueScope {
  readonly tenant: string;
  readonly user: { readonly username: string; readonly uid: string };
  /** The path as the client sent it, without query. */
  readonly path: string;
  readonly options: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>;
}

/** The API server's own token within it has some hundred characters. */
const MAX_LENGTH = 8_192;
const CHECKSUM_LENGTH = 22;

export function continueToken(scope: ContinueScope, position: object): string {
  const text = JSON.stringify(position);
  return `${checksum(scope, text)}${Buffer.from(text).toString('base64url')}`;
}

/** @throws StatusError RequestMalformed */
export function readContinueToken(scope: ContinueScope, token: string): JSONObject {
  if (token.length > MAX_LENGTH) throw invalidContinue();
  const text = Buffer.from(token.slice(CHECKSUM_LENGTH), 'base64url').toString('utf8');
  // Several base64url texts decode to the same bytes: only the canonical one is a token.
  const expected = `${checksum(scope, text)}${Buffer.from(text).toString('base64url')}`;
  const position = token === expected ? readJSONObject(text) : undefined;
  if (position === undefined) throw invalidContinue();
  return position;
}

function checksum({ tenant, user, path, options }: ContinueScope, text: string): string {
  const { labelSelector, fieldSelector } = options;
  const facts = [tenant, user.username, user.uid, path, labelSelector, fieldSelector, text];
  return hash('sha256', JSON.stringify(facts), 'base64url').slice(0, CHECKSUM_LENGTH);
}

export function invalidContinue(): StatusError {
  return new StatusError('RequestMalformed', 'continue key is not valid: it is of no list of yours');
}

/** The refusal, in the API server's words, if what the user may see has changed since the list began. */
export function expiredContinue(): StatusError {
  return new StatusError(
    'ResourceExpired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
  );
}

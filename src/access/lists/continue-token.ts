/**
 * Continue tokens of lists that Stonegate answers. As the API server's they say where the list goes on, and
 * prove nothing: whatever a token says, a page shows what the user may see.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import { StatusError } from '../../errors/status-error.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';

/** The API server's own token within it has some hundred characters. */
const MAX_LENGTH = 8_192;

export function continueToken(position: object): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** @throws StatusError RequestMalformed */
export function readContinueToken(token: string): JSONObject {
  const position = token.length > MAX_LENGTH ? undefined : parsed(Buffer.from(token, 'base64url'));
  if (!isJSONObject(position)) throw invalidContinue();
  return position;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

export function invalidContinue(): StatusError {
  return new StatusError('RequestMalformed', 'continue key is not valid');
}

/** What the user may see has changed since the list began. In the API server's words. */
export function expiredContinue(): StatusError {
  return new StatusError(
    'ResourceExpired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
  );
}

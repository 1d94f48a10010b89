/**
 * Takes tokens out of text that a stranger wrote before it reaches a log: a token pasted into a URL or a user
 * agent is a secret although it stands in the wrong place.
 */

/** Fernet tokens, and everything of three base64url parts that begins as a JOSE header does. */
const TOKENS = /gAAAAA[A-Za-z0-9_%=-]{20,}|eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)?/g;
/** Query parameters by which other software carries credentials. */
const PARAMETERS = /([?&;](?:access_token|id_token|refresh_token|token|password|secret)=)[^&;#]*/gi;

export function redact(text: string): string {
  return text.replace(TOKENS, '[redacted]').replace(PARAMETERS, '$1[redacted]');
}

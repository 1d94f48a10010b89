/**
 * Makes untrusted text fit for a log. Tokens are removed, since one that was pasted into a URL, a name or a user agent
 * is still a secret, and text is cut, since clients choose its length. Each pattern consumes all of a run that it has
 * begun to match, so that no character is read twice and the time is linear in the length.
 */

/** Fernet tokens, and what begins as a JOSE header does with the parts behind it. */
const TOKENS = /gAAAAA[A-Za-z0-9_=-]{20,}|eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){0,2}/g;
/** Query parameters by which other software carries credentials. */
const PARAMETERS = /([?&;](?:access_token|id_token|refresh_token|token|password|secret)=)[^&;#]*/gi;
/** What may begin a token or an escape, and what JSON in ASCII writes otherwise. */
const UNPLAIN = /[^ !#$&-[\]-~]|gAAAAA|eyJ/;
const ESCAPE = /%([0-7][0-9A-Fa-f])/g;
const REDACTED = '[redacted]';
/** The same tokens after a protocol that lower-cases: HTTP/2 does it to header names, and an extra's key is in one. */
const TOKENS_IN_ANY_CASE = new RegExp(TOKENS, 'gi');
/** The characters of tokens without a known form: base64 in both alphabets, escapes, and the parts of a token. */
const RUNS = /[A-Za-z0-9+/=_.~%-]+/g;
/** Names of users, groups and Kubernetes objects are shorter or have letters of one case; ids in hexadecimal too. */
const SHORTEST_OPAQUE = 40;

/** The longest text of a stranger's that a log repeats, in characters. */
export const MAX_TEXT = 4_096;

/** Without tokens. An escaped token is one too: where unescaping brings one to light, the text is shown unescaped. */
export function redact(text: string): string {
  const shown = withoutTokens(text);
  if (!text.includes('%')) return shown;
  const unescaped = text.replace(ESCAPE, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  const clear = withoutTokens(unescaped);
  return clear === unescaped ? shown : clear;
}

/**
 * Cut, then without tokens.
 *
 * @param limit in characters
 */
export function foreignText(text: string, limit: number = MAX_TEXT): string {
  return redact(text.length > limit ? `${text.slice(0, limit)}…` : text);
}

/**
 * For text that a client may have chosen freely, such as a name to impersonate: also without long opaque tokens. The
 * whole text is searched before it is cut, so that no part of a token is left at the cut.
 *
 * @param limit in characters
 */
export function untrustedText(text: string, limit: number = MAX_TEXT): string {
  const clear = redact(text)
    .replace(TOKENS_IN_ANY_CASE, REDACTED)
    .replace(RUNS, (run) => (isOpaque(run) ? REDACTED : run));
  return clear.length > limit ? `${clear.slice(0, limit)}…` : clear;
}

function isOpaque(run: string): boolean {
  return run.length >= SHORTEST_OPAQUE && /[a-z]/.test(run) && /[A-Z]/.test(run) && /[0-9]/.test(run);
}

/** `foreignText` as it stands between the quotes of JSON in ASCII. Most texts need no more than a look. */
export function foreignJSON(text: string, limit: number = MAX_TEXT): string {
  if (text.length <= limit && !UNPLAIN.test(text)) return withoutParameters(text);
  return asciiJSON(JSON.stringify(foreignText(text, limit))).slice(1, -1);
}

/**
 * JSON in ASCII alone: characters that turn writing around or do not show are escaped, and mean the same to whoever
 * parses it.
 */
export function asciiJSON(json: string): string {
  // JSON escapes what is below a blank itself. Both looks go by many characters at a time; a pattern goes one by one.
  if (Buffer.byteLength(json) === json.length && !json.includes('\x7f')) return json;
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Most texts hold nothing that either pattern could begin or end with, which is quickly seen. */
function withoutTokens(text: string): string {
  const tokenless = text.includes('gAAAAA') || text.includes('eyJ') ? text.replace(TOKENS, REDACTED) : text;
  return withoutParameters(tokenless);
}

function withoutParameters(text: string): string {
  return text.includes('=') ? text.replace(PARAMETERS, `$1${REDACTED}`) : text;
}

/**
 * Makes text that a stranger wrote fit for a log. Tokens are taken out: one pasted into a URL, a name or a user agent
 * is a secret although it stands in the wrong place. Text is cut, since strangers also choose its length.
 *
 * Each pattern takes in all of a run that it has begun to look at, so that none is looked at twice: a stranger's text
 * must not be able to cost more than its length.
 */

/** Fernet tokens, and what begins as a JOSE header does with the parts behind it. */
const TOKENS = /gAAAAA[A-Za-z0-9_=-]{20,}|eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){0,2}/g;
/** Query parameters by which other software carries credentials. */
const PARAMETERS = /([?&;](?:access_token|id_token|refresh_token|token|password|secret)=)[^&;#]*/gi;
/** What may begin a token or an escape, and what JSON in ASCII writes otherwise. */
const UNPLAIN = /[^ !#$&-[\]-~]|gAAAAA|eyJ/;
const ESCAPE = /%([0-7][0-9A-Fa-f])/g;
const REDACTED = '[redacted]';

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

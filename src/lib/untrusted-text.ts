/**
 * Prepares text that others choose for logs and terminals, and recognizes text that reads the same
 * everywhere. Tokens are removed from logs, since one that was pasted into a URL, a name or a user agent is
 * still a secret. Each pattern consumes the whole run that it has begun to match: the time is linear.
 */

/** Fernet tokens; JOSE headers with the parts that follow them; secrets that Stonegate issues itself. */
const TOKENS =
  /gAAAAA[A-Za-z0-9_=-]{20,}|eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){0,2}|sg[it]_[A-Za-z0-9]{20,}/g;
const BEGINNINGS = ['gAAAAA', 'eyJ', 'sgt_', 'sgi_'];
/** Query parameters by which other software carries credentials. */
const PARAMETERS = /([?&;](?:access_token|id_token|refresh_token|token|password|secret)=)[^&;#]*/gi;
/** The beginning of a token or an escape, and characters that JSON in ASCII escapes. */
const UNPLAIN = /[^ !#$&-[\]-~]|gAAAAA|eyJ|sg[it]_/;
const ESCAPE = /%([0-7][0-9A-Fa-f])/g;
const REDACTED = '[redacted]';
/**
 * Matches tokens that were lower-cased: HTTP/2 lower-cases header names, and a header name contains an
 * extra's key.
 */
const TOKENS_IN_ANY_CASE = new RegExp(TOKENS, 'gi');
/**
 * The characters of tokens without a known form: base64 in both alphabets, escapes, and the parts of a token.
 */
const RUNS = /[A-Za-z0-9+/=_.~%-]+/g;
/**
 * Names of users, groups and Kubernetes objects are shorter or have letters of one case; ids in hexadecimal
 * too.
 */
const SHORTEST_OPAQUE = 40;

/** The longest untrusted text that a log repeats, in characters. */
export const MAX_TEXT = 4_096;

/** Removes tokens. If unescaping the text reveals a token, the text is returned unescaped. */
export function redact(text: string): string {
  const shown = withoutTokens(text);
  if (!text.includes('%')) return shown;
  const unescaped = text.replace(ESCAPE, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  const clear = withoutTokens(unescaped);
  return clear === unescaped ? shown : clear;
}

/**
 * Cuts the text, then removes tokens.
 *
 * @param limit in characters
 */
export function foreignText(text: string, limit: number = MAX_TEXT): string {
  return redact(text.length > limit ? `${text.slice(0, limit)}…` : text);
}

/**
 * Cleans text that a client chooses freely, such as a name to impersonate: also removes long opaque tokens.
 * The whole text is searched before it is cut, so that no part of a token is left at the cut.
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

/**
 * `foreignText` as the content of a JSON string in ASCII. Most texts are returned unchanged after one test.
 */
export function foreignJSON(text: string, limit: number = MAX_TEXT): string {
  if (text.length <= limit && !UNPLAIN.test(text)) return withoutParameters(text);
  return asciiJSON(JSON.stringify(foreignText(text, limit))).slice(1, -1);
}

/** JSON in ASCII: bidirectional and invisible characters are escaped, with the same meaning to a parser. */
export function asciiJSON(json: string): string {
  // JSON itself escapes characters below the blank. Both tests are faster than a pattern, which goes one by
  // one.
  if (Buffer.byteLength(json) === json.length && !json.includes('\x7f')) return json;
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The pattern is run only if the text contains the beginning of a token. */
function withoutTokens(text: string): string {
  const tokenless = BEGINNINGS.some((each) => text.includes(each)) ? text.replace(TOKENS, REDACTED) : text;
  return withoutParameters(tokenless);
}

function withoutParameters(text: string): string {
  return text.includes('=') ? text.replace(PARAMETERS, `$1${REDACTED}`) : text;
}

/** Characters that control a terminal, or that change how the text around them is shown. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Without tabs and the ends of lines. */
const CONTROLS_IN_LINES = /(?!\r?\n|\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** One line that cannot control a terminal. */
export function withoutControls(text: string): string {
  return text.replace(CONTROLS, '\ufffd');
}

/** Lines that cannot control a terminal. */
export function linesWithoutControls(text: string): string {
  return text.replace(CONTROLS_IN_LINES, '\ufffd');
}

/**
 * JSON, or YAML in which every string with such a character is in double quotes: the characters that control
 * a terminal are escaped, with the same meaning to a parser.
 */
export function withEscapedControls(text: string, format: 'json' | 'yaml'): string {
  return text.replace(CONTROLS_IN_LINES, (character) => {
    if (format === 'json') return asciiJSON(character);
    // YAML 1.2.2 §5.7 escapes whole characters; parsers refuse half of a surrogate pair.
    return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
  });
}

const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;

/**
 * Whether the text is not empty and survives every hop. HTTP trims header values, control characters and line
 * separators end lines for some readers, and half a surrogate pair becomes a replacement character: each way
 * two texts would become one.
 */
export function isPrintable(text: string): boolean {
  return text !== '' && text === text.trim() && !UNPRINTABLE.test(text);
}

/**
 * Parses query strings as Go's `net/url` does: Stonegate must find the same parameters in a query as the API
 * server, which is written in Go. https://pkg.go.dev/net/url#ParseQuery
 */
import { unescaped } from './go-url.ts';

/**
 * One name or value, percent- and plus-decoded.
 *
 * @returns undefined if an escape is broken or the bytes are no UTF-8
 */
export function decodeQueryText(text: string): string | undefined {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  return unescaped(spaced);
}

/** The decoded name of a `name=value` pair; undefined if it cannot be decoded. */
export function parameterName(pair: string): string | undefined {
  const equals = pair.indexOf('=');
  return decodeQueryText(equals === -1 ? pair : pair.slice(0, equals));
}

/**
 * The first value of a parameter, as Go sees it: pairs with a semicolon or a broken escape do not exist.
 *
 * @param name decoded
 * @returns the decoded value, empty for a bare `name`; undefined if the parameter is absent
 */
export function firstParameter(query: string, name: string): string | undefined {
  if (query === '') return undefined;
  for (const pair of query.split('&')) {
    const value = valueIn(pair, name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** All its values in order, read as `firstParameter` does. */
export function allParameters(query: string, name: string): string[] {
  if (query === '') return [];
  return query.split('&').flatMap((pair) => valueIn(pair, name) ?? []);
}

/**
 * A boolean parameter as apimachinery converts it: anything but `false` and `0` is true, an empty one too.
 */
export function isSet(parameter: string | undefined): boolean {
  const value = parameter?.toLowerCase();
  return value !== undefined && value !== 'false' && value !== '0';
}

/** @returns undefined if the pair is of another parameter or is ignored by Go */
function valueIn(pair: string, name: string): string | undefined {
  if (pair.includes(';') || parameterName(pair) !== name) return undefined;
  const equals = pair.indexOf('=');
  return equals === -1 ? '' : decodeQueryText(pair.slice(equals + 1));
}

/**
 * The query with other values of some parameters; all other pairs stay as they were sent.
 *
 * @param values by decoded name; undefined removes the parameter
 */
export function withParameters(query: string, values: Readonly<Record<string, string | undefined>>): string {
  const others = query.split('&').filter((pair) => {
    const name = parameterName(pair);
    return pair !== '' && (name === undefined || !Object.hasOwn(values, name));
  });
  const added = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return [...others, ...added].join('&');
}

/**
 * URLs as Go's net/url reads them, which is not as browsers do: what it accepts, kube-apiserver accepts as an
 * issuer.
 * https://pkg.go.dev/net/url#Parse
 */
import { isIPv6 } from 'node:net';

export interface GoURL {
  /** The scheme in lower case; empty if there is none. */
  readonly scheme: string;
  readonly hasUser: boolean;
  /** The host with its port, as it is written. */
  readonly host: string;
  /** The path as it is written. */
  readonly path: string;
  readonly query: string;
  readonly fragment: string;
}

/** @returns undefined for what is no URL */
export function parseGoURL(text: string): GoURL | undefined {
  const hash = text.indexOf('#');
  const whole = hash < 0 ? text : text.slice(0, hash);
  const fragment = hash < 0 ? '' : text.slice(hash + 1);
  const parsed = parsePart(whole, false);
  return parsed === undefined || !isEscaped(fragment) || hasControl(text)
    ? undefined
    : { ...parsed, fragment };
}

/** Whether the text can be the target of a request: absolute, and without a fragment. */
export function isRequestURI(text: string): boolean {
  return text !== '' && !hasControl(text) && parsePart(text, true) !== undefined;
}

function hasControl(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\x7f');
}

/** @returns undefined if it escapes what is not UTF-8, or something other than an escape follows a `%` */
export function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** The path as it is written, or escaped anew if it has characters that must be. */
export function escapedPath(path: string): string {
  if (/^[A-Za-z0-9\-._~!$&'()*+,;=:@[\]%/]*$/.test(path)) return path;
  const bytes = Buffer.from(path)
    .toString('latin1')
    .replace(/%(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return bytes.replace(
    /[^A-Za-z0-9\-._~$&+,/:;=@]/g,
    (byte) => `%${Buffer.from(byte, 'latin1').toString('hex').toUpperCase()}`,
  );
}

/** Whether each `%` begins an escape. */
export function isEscaped(text: string): boolean {
  return !/%(?![0-9a-fA-F]{2})/.test(text);
}

function parsePart(text: string, asRequest: boolean): GoURL | undefined {
  const found = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text);
  if (text.startsWith(':')) return undefined;
  const scheme = found?.[1]?.toLowerCase() ?? '';
  const rest = text.slice(found?.[0].length ?? 0);
  const mark = rest.indexOf('?');
  const hierarchy = mark < 0 ? rest : rest.slice(0, mark);
  const base = {
    scheme,
    hasUser: false,
    host: '',
    query: mark < 0 ? '' : rest.slice(mark + 1),
    fragment: '',
  };
  if (text === '*') return { ...base, path: '*' };
  if (!hierarchy.startsWith('/')) {
    if (scheme !== '') return { ...base, path: '' };
    const [segment = ''] = hierarchy.split('/');
    return asRequest || segment.includes(':') || !isEscaped(hierarchy)
      ? undefined
      : { ...base, path: hierarchy };
  }
  const hasAuthority =
    hierarchy.startsWith('//') && (scheme !== '' || (!asRequest && !hierarchy.startsWith('///')));
  if (!hasAuthority) return isEscaped(hierarchy) ? { ...base, path: hierarchy } : undefined;
  const slash = hierarchy.indexOf('/', 2);
  const authority = hierarchy.slice(2, slash < 0 ? undefined : slash);
  const path = slash < 0 ? '' : hierarchy.slice(slash);
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  if (!isHost(scheme, host) || !isUser(authority.slice(0, Math.max(at, 0))) || !isEscaped(path))
    return undefined;
  return { ...base, hasUser: at >= 0, host, path };
}

function isUser(text: string): boolean {
  return /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(text) && isEscaped(text);
}

const HOST = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:\]<>"]|[^\0-\x7f]|%[89a-fA-F][0-9a-fA-F]|%25)*$/;
const BRACKETED = /^\[([0-9a-fA-F:.]*)(?:%25(.*))?\]([^\]]*)$/s;
/** A zone escapes nothing but what it may hold anyway, `%` and the blank. */
const ZONE = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>" %]|[^\0-\x7f])+$/;

function isHost(scheme: string, host: string): boolean {
  if (!host.includes('[')) {
    const colon = scheme === 'http' || scheme === 'https' ? host.indexOf(':') : host.lastIndexOf(':');
    return (colon < 0 || isPort(host.slice(colon))) && HOST.test(host);
  }
  const [, address = '', zone, port = ''] = BRACKETED.exec(host) ?? [];
  if (!isIPv6(address) || !isPort(port)) return false;
  return zone === undefined || (!/[ []|%[89a-f]/i.test(zone) && ZONE.test(unescaped(zone) ?? ''));
}

function isPort(text: string): boolean {
  return text === '' || /^:[0-9]*$/.test(text);
}

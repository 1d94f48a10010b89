/**
 * URLs as Go's net/url reads them, which is not as browsers do: what it accepts, kube-apiserver accepts as an
 * issuer.
 * https://pkg.go.dev/net/url#Parse
 */

export interface GoURL {
  /** In lower case; empty if there is none. */
  readonly scheme: string;
  readonly hasUser: boolean;
  /** With its port. */
  readonly host: string;
  /** As it was written, if that is a valid encoding. */
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

/** As the target of a request: absolute, and without a fragment. */
export function isRequestURI(text: string): boolean {
  return text !== '' && !hasControl(text) && parsePart(text, true) !== undefined;
}

function hasControl(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\x7f');
}

/** Whether each `%` begins an escape. */
function isEscaped(text: string): boolean {
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
  if (!isHost(host) || !isUser(authority.slice(0, Math.max(at, 0))) || !isEscaped(path)) return undefined;
  return { ...base, hasUser: at >= 0, host, path };
}

function isUser(text: string): boolean {
  return /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(text) && isEscaped(text);
}

const HOST = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"]|[^\0-\x7f]|%[89a-fA-F][0-9a-fA-F])*$/;

function isHost(host: string): boolean {
  if (host.startsWith('[')) {
    const end = host.lastIndexOf(']');
    const inside = host.slice(1, end).replace(/%25.*$/, '');
    return end > 0 && isPort(host.slice(end + 1)) && /^[0-9a-fA-F:.]+$/.test(inside) && inside.includes(':');
  }
  const colon = host.lastIndexOf(':');
  return (colon < 0 || isPort(host.slice(colon))) && HOST.test(host);
}

function isPort(text: string): boolean {
  return text === '' || /^:[0-9]*$/.test(text);
}

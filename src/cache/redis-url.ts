/**
 * Parses the URL of Redis (`redis:`, `rediss:` for TLS, `unix:` for a socket). The URL may contain a
 * password: no message repeats it. https://www.iana.org/assignments/uri-schemes/prov/redis
 */

export interface RedisAddress {
  readonly host?: string;
  readonly port?: number;
  /** A socket's path. */
  readonly path?: string;
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
  readonly tls: boolean;
}

const DEFAULT_PORT = 6379;

/** @throws RangeError if it is not such a URL */
export function parseRedisURL(url: string): RedisAddress {
  const parsed = URL.parse(url);
  if (parsed === null || !['redis:', 'rediss:', 'unix:'].includes(parsed.protocol)) {
    throw new RangeError('the URL of Redis must start with redis://, rediss:// or unix://');
  }
  const credential = {
    ...(parsed.username === '' ? {} : { username: decodeURIComponent(parsed.username) }),
    ...(parsed.password === '' ? {} : { password: decodeURIComponent(parsed.password) }),
  };
  if (parsed.protocol === 'unix:') {
    return { path: decodeURIComponent(parsed.pathname), tls: false, ...credential };
  }
  const db = parsed.pathname.slice(1);
  if (!/^\d*$/.test(db))
    throw new RangeError('the path of the URL of Redis must be the number of a database');
  return {
    // Only in a URL an IPv6 address has brackets.
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
    port: parsed.port === '' ? DEFAULT_PORT : Number(parsed.port),
    tls: parsed.protocol === 'rediss:',
    ...(db === '' ? {} : { db: Number(db) }),
    ...credential,
  };
}

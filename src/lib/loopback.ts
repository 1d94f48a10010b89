/**
 * Which addresses never leave this machine, so that plain HTTP to them is as good as TLS. RFC 8252 §8.3.
 */

export function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(url.hostname);
}

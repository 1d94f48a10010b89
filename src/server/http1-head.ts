/**
 * Checks of an HTTP/1 request head beyond Node's strict parser, so that no two servers read different
 * requests from the same bytes (request smuggling): one Host field, and one unambiguous body framing.
 * RFC 9112 §2.3, §3.2, §6.1, §6.3.
 */
import { StatusError } from '../errors/status-error.ts';
import { countHeader, type HeaderList, headerTokens, headerValue, isNamed } from '../lib/header-list.ts';

/** Header fields of a request, in both protocols: one of a few bytes takes ten times as much memory. */
export const MAX_FIELDS = 500;

/** @throws StatusError RequestMalformed, HeadersTooLarge */
export function checkHttp1Head(httpVersion: string, headers: HeaderList): void {
  if (headers.length > MAX_FIELDS)
    throw new StatusError('HeadersTooLarge', `the request has more than ${MAX_FIELDS} header fields`);
  // Node's parser also accepts 0.9 and 2.0, whose framing differs from the one it applies.
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    throw new StatusError('RequestMalformed', 'the only versions understood here are HTTP/1.0 and HTTP/1.1');
  const hosts = countHeader(headers, 'host');
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0'))
    throw new StatusError('RequestMalformed', 'the request must carry exactly one Host field');
  const encoding = headerValue(headers, 'transfer-encoding');
  if (encoding === undefined) return;
  const encodings = countHeader(headers, 'transfer-encoding');
  if (encodings > 1 || encoding.toLowerCase() !== 'chunked' || httpVersion === '1.0')
    throw new StatusError(
      'RequestMalformed',
      'the only transfer encoding understood is chunked, on HTTP/1.1',
    );
}

/** Whether a body follows the head. */
export function announcesBody(headers: HeaderList): boolean {
  return headers.some(
    ([name, value]) =>
      isNamed(name, 'transfer-encoding') || (isNamed(name, 'content-length') && Number(value) !== 0),
  );
}

/**
 * The protocols of a Kubernetes API server. Another one, such as h2c, would carry requests that are not
 * authorized.
 */
const UPGRADE_PROTOCOLS: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

/**
 * The new protocol follows the head, so there is no body: the two sides could read it differently. Only one
 * known protocol may be offered, because the API server would choose among several after authorization.
 *
 * @throws StatusError RequestMalformed
 */
export function checkUpgradeHead(headers: HeaderList): void {
  if (announcesBody(headers))
    throw new StatusError('RequestMalformed', 'a request to upgrade cannot carry a body');
  const protocols = headerTokens(headers, 'upgrade');
  const [protocol] = protocols;
  if (protocol === undefined || protocols.length !== 1)
    throw new StatusError('RequestMalformed', 'a request to upgrade must name exactly one protocol');
  if (!UPGRADE_PROTOCOLS.has(protocol))
    throw new StatusError('RequestMalformed', 'the only protocols to upgrade to are websocket and SPDY/3.1');
}

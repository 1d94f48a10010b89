/**
 * What an HTTP/1 request head must be beyond what Node's strict parser already demands, so that no two servers
 * can read two different requests out of it: one Host, and a body framed in the one way everybody understands.
 * RFC 9112 §2.3, §3.2, §6.1, §6.3.
 */
import { StatusError } from '../errors/status-error.ts';
import { countHeader, type HeaderList, headerTokens, headerValue, isNamed } from '../lib/header-list.ts';

/** @throws StatusError RequestMalformed */
export function checkHttp1Head(httpVersion: string, headers: HeaderList): void {
  // Node's parser also takes 0.9 and 2.0, which have another framing than the one it then applies.
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

/** Whether a body follows the head, as the head says. */
export function announcesBody(headers: HeaderList): boolean {
  return headers.some(
    ([name, value]) =>
      isNamed(name, 'transfer-encoding') || (isNamed(name, 'content-length') && Number(value) !== 0),
  );
}

/** What a Kubernetes API server upgrades to. Anything else (h2c, say) would carry requests that nobody decides about. */
const UPGRADE_PROTOCOLS: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

/**
 * Behind a request to upgrade comes the new protocol, so a body would be read by nobody or by the wrong side. And
 * one known protocol is asked for, so that what is decided about is what the API server chooses.
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

/**
 * A response of the API server to a request of Stonegate's own that becomes the response to the client.
 */
import type { UpstreamResponse } from '../ports.ts';

/** The others are about the connection, or about one response of several. */
const RELAYED: ReadonlySet<string> = new Set(['content-type', 'cache-control', 'warning', 'retry-after']);

export function relayedResponse({ status, headers, body }: UpstreamResponse): UpstreamResponse {
  return { status, headers: headers.filter(([name]) => RELAYED.has(name.toLowerCase())), body };
}

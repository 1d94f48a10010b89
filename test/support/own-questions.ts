/**
 * Distinguishes requests for clients from Stonegate’s own requests to the API server, which a test does not
 * count.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { OWN_TOKEN } from './testbed.ts';

/** Whether it is no request for the version or the core group, and no review of Stonegate's own rights. */
export function isForClient({ url = '', headers }: Asked) {
  if (url === '/version') return false;
  const own = headers.authorization === `Bearer ${OWN_TOKEN}` && !('impersonate-user' in headers);
  return !own || !(url === '/api/v1' || url.endsWith('/selfsubjectaccessreviews'));
}

interface Asked {
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

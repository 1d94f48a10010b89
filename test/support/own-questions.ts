/**
 * Tells requests for clients from what Stonegate asks the API server for itself, which a test does not count.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { OWN_TOKEN } from './testbed.ts';

/** Whether it is neither the question for the version nor the one for Stonegate's own rights. */
export function isForClient({ url = '', headers }: Asked): boolean {
  if (url === '/version') return false;
  const own = headers.authorization === `Bearer ${OWN_TOKEN}` && !('impersonate-user' in headers);
  return !own || !url.endsWith('/selfsubjectaccessreviews');
}

interface Asked {
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

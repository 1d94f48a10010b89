/** What the API server saw, in words: the rewritten path and the impersonated user. */
import type { LoggedRequest } from '../test/support/apiserver/api-server.ts';

export function describeRequest({ method, url, headers }: LoggedRequest): string {
  const user = headers['impersonate-user'];
  return `${method} ${url} as ${typeof user === 'string' ? user : 'Stonegate itself'}`;
}

/** With the groups besides, a line of the log. */
export function logLine(request: LoggedRequest, now: Date): string {
  const groups = request.headers['impersonate-group'];
  const list = groups === undefined ? '' : ` groups ${[groups].flat().join(', ')}`;
  return `${now.toISOString()} ${describeRequest(request)}${list}\n`;
}

/**
 * Sends a request of Stonegate's own as the user of a client's request. It has the client's headers, except
 * those that describe the client's body or ask for another form, version or part of the response.
 */

import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { HeaderField } from '../../lib/header-list.ts';
import { accountOf } from '../acting-tenant.ts';
import type { Outgoing } from '../request-context.ts';

const DROPPED_FIELDS: ReadonlySet<string> = new Set([
  'content-type',
  'content-encoding',
  'accept',
  'accept-encoding',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
]);

export interface RequestAsUser {
  readonly path: string;
  /** Empty if there is none. */
  readonly query: string;
  /** JSON by default. */
  readonly accept?: string;
  /** Without it, the request is a GET. */
  readonly body?: object;
}

/** @throws StatusError as the fetcher does */
export function fetchAsUser(
  fetcher: UpstreamFetcher,
  outgoing: Outgoing,
  { path, query, accept = JSON_TYPE, body }: RequestAsUser,
): Promise<UpstreamResponse> {
  const { exchange, sender, upstreamHeaders } = outgoing;
  const others = upstreamHeaders.filter(([name]) => !DROPPED_FIELDS.has(name.toLowerCase()));
  const headers: HeaderField[] = [...others, ['Accept', accept]];
  const common = {
    account: accountOf(outgoing),
    sender,
    target: query === '' ? path : `${path}?${query}`,
  };
  const request =
    body === undefined
      ? { ...common, method: 'GET', headers }
      : {
          ...common,
          method: 'POST',
          headers: [...headers, ['Content-Type', JSON_TYPE] as const],
          body: JSON.stringify(body),
        };
  return fetcher.fetch(request, exchange.signal);
}

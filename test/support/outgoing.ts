/** A request at the last stage, for responses of Stonegate’s own: parsed and routed as the pipeline does. */

import { impersonationHeaders } from '../../src/kubernetes/impersonation-headers.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../src/kubernetes/upstream-ports.ts';
import { senderOf } from '../../src/proxy/pass-through.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import type { Outgoing } from '../../src/proxy/request-context.ts';
import { routeKind } from '../../src/proxy/route-kind.ts';
import type { Identity } from '../../src/tenancy/identity.ts';
import type { TenancyMode } from '../../src/tenancy/tenancy-mode.ts';
import { type FakeExchange, fakeExchange } from './fake-exchange.ts';

type ExchangeOptions = NonNullable<Parameters<typeof fakeExchange>[0]>;

export function outgoingOf(
  mode: TenancyMode,
  identity: Identity,
  options: ExchangeOptions | FakeExchange,
): Outgoing {
  const exchange = 'response' in options ? options : fakeExchange(options);
  const info = readRequestInfo(exchange.method, exchange.target, mode.facts);
  const tenant = mode.tenantOf(identity);
  const user = mode.userOf(identity, tenant);
  const route = mode.route(info, exchange.method, tenant, user);
  return {
    exchange,
    auditID: 'audit-1',
    receivedAt: 0,
    sourceIPs: ['192.0.2.7'],
    info,
    identity,
    proven: identity,
    sender: senderOf(identity, { kind: 'bearer', token: 'client-token' }),
    tenant,
    named: user,
    user,
    authorized: true,
    route,
    kind: routeKind({ info, exchange, tenant }, route, mode),
    upstreamHeaders:
      identity.subject.kind === 'upstream'
        ? [...exchange.headers]
        : [...exchange.headers, ...impersonationHeaders(user)],
  };
}

type Asked = Parameters<UpstreamFetcher['fetch']>[0];

/** An API server that responds as the test says and records its requests. */
export function fakeFetcher(
  answer: (asked: Asked) => { status: number; body: unknown; type?: string } | Error,
) {
  const asked: Asked[] = [];
  return {
    asked,
    async fetch(request: Asked): Promise<UpstreamResponse> {
      asked.push(request);
      const given = answer(request);
      if (given instanceof Error) throw given;
      const { status, body, type = 'application/json' } = given;
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const headers = [
        ['Content-Type', type],
        ['Date', 'today'],
        ['Content-Length', String(text.length)],
        ['Etag', '"1"'],
      ] as const;
      return { status, headers, body: Buffer.from(text) };
    },
  };
}

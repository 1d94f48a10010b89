/**
 * A request as its observers see it when it ends: of a tenant's user with a project, and with bytes that the
 * test may let grow.
 */
import type { RequestInfo } from '../../src/kubernetes/request-info.ts';
import type { ObservedRequest } from '../../src/observability/request-observer.ts';
import { isTenantName } from '../../src/tenancy/tenant-name.ts';
import { alice } from './fake-pipeline.ts';

export interface ObservedFacts {
  /** None without it. */
  readonly tenant?: string;
  /** Keystone's id; the credential has no project without it. */
  readonly project?: string;
  /** Undefined for a request that cannot be read. */
  readonly info?: RequestInfo;
  readonly received?: number;
  readonly sent?: number;
  readonly outcome?: ObservedRequest['outcome'];
}

/** `exchange` counts on. */
export function observedRequest(facts: ObservedFacts): ObservedRequest & {
  readonly exchange: { bytesReceived: number; readonly response: { bytesSent: number } };
} {
  const { tenant, project, info, received = 0, sent = 0, outcome } = facts;
  if (tenant !== undefined && !isTenantName(tenant)) throw new TypeError(`${tenant} is no tenant's name`);
  const scope = { kind: 'project', id: project ?? '', roles: [] } as const;
  return {
    auditID: 'a1',
    receivedAt: 0,
    sourceIPs: ['192.0.2.7'],
    exchange: {
      method: 'GET',
      target: '/',
      headers: [],
      bytesReceived: received,
      response: { bytesSent: sent },
    },
    ...(tenant !== undefined && {
      tenant,
      identity: { ...alice, ...(project !== undefined && { scope }) },
    }),
    ...(info !== undefined && { info }),
    outcome: outcome ?? { status: 200, aborted: false },
  };
}

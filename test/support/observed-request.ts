/**
 * A request as observers receive it when it ends: of a user of a tenant with a project, and with a byte count
 * that the test can increase.
 */
import type { RequestInfo } from '../../src/kubernetes/request-info.ts';
import type { ObservedRequest } from '../../src/observability/request-observer.ts';
import { isTenantName } from '../../src/tenancy/tenant-name.ts';
import { alice } from './fake-pipeline.ts';

export interface ObservedFacts {
  /** The tenant; by default there is none. */
  readonly tenant?: string;
  /** Keystone's project id; by default the credential has no project. */
  readonly project?: string;
  /** Undefined for a request that cannot be parsed. */
  readonly info?: RequestInfo;
  readonly received?: number;
  readonly sent?: number;
  readonly outcome?: ObservedRequest['outcome'];
}

/** The byte counts of `exchange` can be increased. */
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

/**
 * A pipeline with minimal dependencies: one tenant, one user, and an API server that responds as the test
 * says and records what it receives.
 */

import type { StatusResponse } from '../../src/errors/to-status.ts';
import type { AccessReviewer } from '../../src/kubernetes/access-reviewer.ts';
import type { TenantName } from '../../src/kubernetes/request-info.ts';
import type { UpstreamRequest } from '../../src/kubernetes/upstream-ports.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { ResponseWriter } from '../../src/lib/exchange.ts';
import { InFlightCounter } from '../../src/lib/in-flight.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import { ResponseMemory } from '../../src/limits/response-memory.ts';
import type { ObservedRequest } from '../../src/observability/request-observer.ts';
import type { ServingStages } from '../../src/proxy/delivery.ts';
import { LastModes } from '../../src/proxy/impersonation/impersonation-modes.ts';
import { StreamRegistry } from '../../src/proxy/streams/stream-registry.ts';
import { TENANCY_FACTS } from '../../src/tenancy/facts.ts';
import type { QualifiedIdentity } from '../../src/tenancy/identity.ts';
import type { TenancyMode } from '../../src/tenancy/tenancy-mode.ts';
import { isTenantName } from '../../src/tenancy/tenant-name.ts';
import { ownAPIOf } from './own-api.ts';

export const alice: QualifiedIdentity = {
  authenticator: 'keystone',
  subject: {
    kind: 'keystone',
    userName: 'alice',
    userDomain: { id: 'd1', name: 'acme' },
    scopeDomain: { id: 'd1', name: 'acme' },
  },
  tenantOrigin: { from: 'domain', domain: { id: 'd1', name: 'acme' } },
  uid: 'u1',
  groups: ['keystone:project:p1'],
  extra: {},
  expiresAt: Date.now() + 3_600_000,
  auditAnnotations: { 'stonegate.dev/keystone-audit-id': 'k-1' },
};

function tenantName(name: string): TenantName {
  if (isTenantName(name)) return name;
  throw new TypeError(`${name} is no tenant's name`);
}

const acme = tenantName('acme');

/** Forwards everything unchanged. */
export const openMode: TenancyMode = {
  name: 'open',
  facts: TENANCY_FACTS.shared,
  tenantOf: () => acme,
  userOf: () => ({
    username: 'acme:alice',
    uid: 'u1',
    groups: ['keystone:project:p1', 'system:authenticated'],
    extra: {},
  }),
  impersonationTarget: (wanted) => ({ username: `acme:${wanted}`, groups: [], extra: {} }),
  memberName: (wanted) => `acme:${wanted}`,
  route: (info) => ({ kind: 'forward', path: info.rawPath, query: info.rawQuery }),
  reviewTenant: () => undefined,
  isSystem: () => false,
  isClusterWide: () => false,
  isWithinTenant: () => true,
  hiddenResources: new Set(),
  readableResources: new Map(),
  hiddenGroups: new Set(),
  watchEvents: 'asTheyAre',
  protobuf: 'asItIs',
  watchLists: 'asTheyAre',
  listsAtRevision: true,
};

const allowingReviewer: AccessReviewer = {
  review: async () => ({ allowed: true }),
  reviewSelf: async () => ({ allowed: true }),
};

export interface Seen {
  readonly sent: UpstreamRequest[];
  readonly tunnelled: UpstreamRequest[];
  /** `received ID`, `started ID`, `complete ID`, each with the record at that time. */
  readonly events: { readonly stage: string; readonly record: ObservedRequest }[];
}

export function fakePipeline(changes: Partial<ServingStages> = {}): ServingStages & Seen {
  const seen: Seen = { sent: [], tunnelled: [], events: [] };
  const note = (stage: string) => (record: ObservedRequest) =>
    seen.events.push({ stage, record: { ...record } });
  return {
    ...seen,
    pages: [],
    clock: systemClock,
    random: systemRandom,
    trustedProxies: [],
    anonymousAccess: () => undefined,
    observer: {
      requestReceived: note('received'),
      responseStarted: note('started'),
      responseComplete: note('complete'),
    },
    authenticators: [{ name: 'fake', authenticate: async () => alice }],
    mode: openMode,
    ownAPI: ownAPIOf(),
    impersonation: { reviewer: allowingReviewer, extraKeys: new Set(), lastModes: new LastModes() },
    upstreamRights: { withheld: new Set(), constrained: false, refused() {} },
    authorizers: [],
    admission: [],
    maxHeaderBytes: 1 << 20,
    handlers: {},
    publicDocuments: new Map(),
    bodyRules: [],
    responseHooks: [],
    readiness: [],
    bodies: { inspect: () => undefined, reserve: () => undefined },
    forwarder: {
      async forward(request, exchange, hooks) {
        seen.sent.push(request);
        hooks.onHead(200);
        exchange.response.writeHead(200, []);
        exchange.response.end('upstream');
        return { status: 200, aborted: false };
      },
    },
    tunneller: {
      async tunnel(request) {
        seen.tunnelled.push(request);
        return { status: 101, aborted: false };
      },
    },
    undecided: new InFlightCounter(),
    streams: new StreamRegistry({
      limits: { perUser: 500, perTenant: 5_000 },
      clock: systemClock,
      random: systemRandom,
      telemetry: noTelemetry,
    }),
    responseMemory: new ResponseMemory(),
    writeStatus,
    ...changes,
  };
}

function writeStatus(response: ResponseWriter, answer: StatusResponse, auditID: string) {
  response.writeHead(answer.status.code, [...answer.headers, ['Audit-Id', auditID]]);
  response.end(JSON.stringify(answer.status));
}

/** Requests to all namespaces, in front of an API server that lists and watches only single namespaces. */

import {
  type AllNamespacesOptions,
  createMergedNamespaces,
} from '../../src/features/all-namespaces/handle-all-namespaces.ts';
import { createMergeTurns } from '../../src/features/all-namespaces/merge-memory.ts';
import type { RoleLookup } from '../../src/identity/keystone/role-lookup.ts';
import type { StoredObject } from '../../src/kubernetes/rbac-v1.ts';
import type { UpstreamRequest, UpstreamResponse } from '../../src/kubernetes/upstream-ports.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { firstParameter } from '../../src/lib/query.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { ByteBudget } from '../../src/limits/byte-budget.ts';
import { MADE_RESPONSES } from '../../src/limits/memory-bounds.ts';
import { createAccessSubjects } from '../../src/proxy/access-subject.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import { WatchLifetimes } from '../../src/proxy/response/watch-lifetimes.ts';
import { AccessChanges } from '../../src/rbac/access-changes.ts';
import type { Identity } from '../../src/tenancy/identity.ts';
import { createSharedMode } from '../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../src/tenancy/tenancy-mode.ts';
import { type AccessIndexSite, accessIndexOf } from './access-index.ts';
import { keystoneIdentity } from './identities.ts';
import { type Contents, listBody } from './namespaced-lists.ts';
import { outgoingOf } from './outgoing.ts';
import { rule } from './policy-rule.ts';
import { clusterRole, namespace, roleBinding, user } from './rbac-objects.ts';
import { createReviewed } from './reviewed.ts';

export type Asked = Pick<UpstreamRequest, 'target' | 'headers' | 'sender' | 'account'>;
/** The response of a namespace in place of its list. */
export type Fault = Error | { readonly status: number; readonly body?: string };

/** Roles and bindings that let `acme:alice` list and watch pods in the namespaces. */
export function podReader(names: readonly string[], tenant = '', name = 'acme:alice'): StoredObject[] {
  const rules = [rule('list,watch', 'pods')];
  return [
    clusterRole('pod-reader', rules, { tenant }),
    ...names.flatMap((place) => [
      namespace(place, { tenant }),
      roleBinding(place, `reader-${place}`, 'ClusterRole/pod-reader', [user(name)], tenant),
    ]),
  ];
}

export const sharedMode = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
const ALICE = keystoneIdentity('alice');
const RESOURCES: Readonly<Record<string, boolean>> = { pods: true, widgets: true, nodes: false };

interface SiteOptions {
  readonly objects?: readonly StoredObject[];
  /** Used in place of an index of the objects. */
  readonly index?: AccessIndexSite;
  readonly contents?: Contents;
  readonly mode?: TenancyMode;
  readonly identity?: Identity;
  readonly roles?: RoleLookup;
  readonly changes?: Partial<AllNamespacesOptions>;
}

export function allNamespacesSite({
  objects = [],
  index = accessIndexOf(...objects),
  contents = new Map(),
  mode = sharedMode,
  identity = ALICE,
  roles,
  changes = {},
}: SiteOptions) {
  const replaced = new AbortController();
  const asked: Asked[] = [];
  const faults = new Map<string, Fault>();
  const reviewed = createReviewed();
  const upstreamRights = { withheld: new Set<string>(), constrained: false, refused() {} };
  const subjects = createAccessSubjects({
    mode,
    maxHeaderBytes: 64 * 1024,
    upstreamRights,
    ...(roles && { roles }),
  });
  const options: AllNamespacesOptions = {
    access: index.access,
    subjects,
    mode,
    discovered: {
      preferredVersion: async () => Promise.reject(new Error('no documents')),
      async resource(_tenant, _groupVersion, name) {
        const namespaced = RESOURCES[name];
        return namespaced === undefined ? undefined : { name, namespaced };
      },
    },
    fetcher: { fetch: async (request) => answerOf(request) },
    changes: new AccessChanges(index.index, index.clock),
    othersMayAllow: false,
    verifier: { sampleNamespaces() {} },
    maxNamespaces: 50,
    turns: createMergeTurns(index.clock),
    reviewer: reviewed.reviewer,
    streams: { widen() {} },
    memory: new ByteBudget(MADE_RESPONSES),
    clock: index.clock,
    random: { ...systemRandom, fraction: () => 0.5 },
    logger: silentLogger,
    lifetimes: new WatchLifetimes({
      clock: index.clock,
      random: { fraction: () => 0.5 },
      replaced: replaced.signal,
    }),
    streamer: {
      admitParts: () => ({ release() {}, stream: async () => Promise.reject(new Error('no watches')) }),
    },
    ...changes,
  };

  function answerOf(request: Asked): UpstreamResponse {
    asked.push(request);
    const info = readRequestInfo('GET', request.target, mode.facts);
    if (!info.isResourceRequest) throw new Error(`no list: ${request.target}`);
    const fault = faults.get(info.namespace);
    if (fault instanceof Error) throw fault;
    if (fault !== undefined)
      return { status: fault.status, headers: [], body: Buffer.from(fault.body ?? '{"kind":"Status"}') };
    const parameter = (name: string) => firstParameter(info.rawQuery, name);
    const limit = parameter('limit');
    const part = {
      namespace: info.namespace,
      limit: limit === undefined ? undefined : Number(limit),
      revision: parameter('resourceVersion'),
      more: parameter('continue'),
    };
    return { status: 200, headers: [], body: listBody(contents, part, '500') };
  }

  const { handle, wouldMerge } = createMergedNamespaces(options);
  return {
    ...index,
    mode,
    options,
    /** Ends requests as a reload does. */
    replace: () => replaced.abort(),
    asked,
    faults,
    reviewed,
    /** The namespaces that were requested, in the order of the requests. */
    requested: () => asked.map(({ target }) => /\/namespaces\/([^/]+)\//.exec(target)?.[1]),
    outgoing: (target: string, accept = 'application/json') =>
      outgoingOf(mode, identity, { target, headers: [['Accept', accept]] }),
    async get(target = '/api/v1/pods', accept?: string): Promise<UpstreamResponse | undefined> {
      const answered = await handle(this.outgoing(target, accept));
      if (answered !== undefined && !('body' in answered)) throw new Error('no response');
      return answered;
    },
    handle,
    wouldMerge,
  };
}

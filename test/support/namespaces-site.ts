/** Filtered namespaces as a user sees them, from an RBAC index that the test fills. */

import { StatusError } from '../../src/errors/status-error.ts';
import { toStatus } from '../../src/errors/to-status.ts';
import { CreatedNamespaces } from '../../src/features/namespaces/created-namespaces.ts';
import {
  createFilteredNamespaces,
  type FilteredNamespaces,
} from '../../src/features/namespaces/handle-namespaces.ts';
import type {
  FilteredNamespacesOptions,
  NamespacesMemory,
} from '../../src/features/namespaces/namespaces-request.ts';
import { VisibleNamespacesCache } from '../../src/features/namespaces/visible-namespaces.ts';
import type { StoredObject } from '../../src/kubernetes/rbac-v1.ts';
import type { HeaderList } from '../../src/lib/header-list.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createAccessSubjects } from '../../src/proxy/access-subject.ts';
import type { Outgoing } from '../../src/proxy/request-context.ts';
import type { StreamedResponse } from '../../src/proxy/response/response-stream.ts';
import { WatchLifetimes } from '../../src/proxy/response/watch-lifetimes.ts';
import { AccessChanges } from '../../src/rbac/access-changes.ts';
import type { Identity } from '../../src/tenancy/identity.ts';
import { createSharedMode } from '../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../src/tenancy/tenancy-mode.ts';
import { type AccessIndexSite, accessIndexOf } from './access-index.ts';
import { keystoneIdentity } from './identities.ts';
import { outgoingOf } from './outgoing.ts';
import { readStream } from './response-stream.ts';
import { createReviewed } from './reviewed.ts';

const sharedMode = createSharedMode({ domains: {}, reservedNamePrefixes: [] });

export type NamespacesReply = ReturnType<typeof replyOf>;

export type WatchedEvent = ReturnType<typeof eventOf>;

export type NamespacesWatch = ReturnType<typeof openWatch>;

export interface NamespacesSite extends AccessIndexSite {
  outgoing(user: string | Identity, target: string, headers?: HeaderList, method?: string): Outgoing;
  /** @returns undefined if the request is forwarded */
  get(user: string | Identity, query?: string, headers?: HeaderList): Promise<NamespacesReply | undefined>;
  /** Rejects if the request is refused or forwarded. */
  watch(
    user: string | Identity,
    query?: string,
    headers?: HeaderList,
    reading?: Parameters<typeof readStream>[1],
  ): Promise<NamespacesWatch>;
  readonly filtered: FilteredNamespaces;
}

export interface NamespacesSiteOptions extends Partial<FilteredNamespacesOptions> {
  readonly tenancy?: TenancyMode;
}

/** @param nextTurn schedules the decisions for watches */
export function namespacesMemory(
  { index, clock }: AccessIndexSite,
  nextTurn?: (action: () => void) => void,
): NamespacesMemory {
  const changes = new AccessChanges(index, clock, nextTurn);
  return { views: new VisibleNamespacesCache(index, changes), created: new CreatedNamespaces() };
}

export function namespacesSite(
  objects: readonly StoredObject[],
  options: NamespacesSiteOptions = {},
): NamespacesSite {
  return namespacesSiteOf(accessIndexOf(...objects), options);
}

export function namespacesSiteOf(
  site: AccessIndexSite,
  { tenancy = sharedMode, ...options }: NamespacesSiteOptions = {},
): NamespacesSite {
  const upstreamRights = { withheld: new Set<string>(), constrained: false, refused() {} };
  const filtered = createFilteredNamespaces({
    access: site.access,
    memory: namespacesMemory(site),
    subjects: createAccessSubjects({ mode: tenancy, maxHeaderBytes: 1 << 20, upstreamRights }),
    mode: tenancy,
    othersMayAllow: false,
    reviewer: createReviewed().reviewer,
    verifier: { sampleNamespaces() {} },
    clock: site.clock,
    lifetimes: new WatchLifetimes({
      clock: site.clock,
      random: systemRandom,
      replaced: new AbortController().signal,
    }),
    ...options,
  });
  const outgoing: NamespacesSite['outgoing'] = (user, target, headers = [], method = 'GET') =>
    outgoingOf(tenancy, typeof user === 'string' ? keystoneIdentity(user) : user, {
      target,
      headers,
      method,
    });
  const ask = async (user: string | Identity, query: string, headers: HeaderList) => {
    const target = query.startsWith('/') ? query : `/api/v1/namespaces${query === '' ? '' : `?${query}`}`;
    const request = outgoing(user, target, headers);
    return request.kind === 'namespaces' ? filtered.handle(request) : undefined;
  };
  return {
    ...site,
    filtered,
    outgoing,
    async get(user, query = '', headers = []) {
      try {
        const answer = await ask(user, query, headers);
        if (answer === undefined) return undefined;
        if (!('body' in answer)) throw new TypeError('it is no list');
        return replyOf(answer.status, answer.headers, answer.body.toString());
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        const { status, headers } = toStatus(error, 'audit-1');
        return replyOf(status.code, headers, JSON.stringify(status));
      }
    },
    async watch(user, query = '', headers = [], reading = undefined) {
      const answer = await ask(user, `watch=1&${query}`, headers);
      if (answer === undefined || !('start' in answer)) throw new TypeError('it is no watch');
      return openWatch(answer, reading);
    },
  };
}

function openWatch(answer: Pick<StreamedResponse, 'start'>, options?: Parameters<typeof readStream>[1]) {
  const stream = readStream(answer, options);
  let read = 0;
  return {
    /** The stream, for a test that reads slowly. */
    stream,
    get lines() {
      return stream.lines;
    },
    /** All events. */
    get events() {
      return stream.lines.map(eventOf);
    },
    get ended() {
      return stream.ended;
    },
    /** The events since the last call, as `ADDED a`. */
    async read() {
      await new Promise((resolve) => setImmediate(resolve));
      const { lines } = stream;
      const events = lines.slice(read).map(eventOf);
      read = lines.length;
      return events.map(({ type, name }) => (name === '' ? type : `${type} ${name}`));
    },
    close: () => stream.leave(),
  };
}

function eventOf(line: string) {
  const event: { type: string; object: { metadata: Record<string, string>; rows?: { cells: string[] }[] } } =
    JSON.parse(line);
  const { type, object } = event;
  const { name = object.rows?.[0]?.cells[0] ?? '', resourceVersion = '' } = object.metadata;
  return { type, name, resourceVersion, object };
}

function replyOf(status: number, headers: HeaderList, text: string) {
  const body: {
    metadata?: { resourceVersion?: string; continue?: string };
    items?: { metadata: { name: string } }[];
    rows?: { cells: string[] }[];
    message?: string;
  } = JSON.parse(text);
  const names =
    body.items?.map(({ metadata }) => metadata.name) ?? body.rows?.map(({ cells }) => cells[0] ?? '');
  return {
    status,
    headers,
    text,
    /** The names of the items or rows. */
    names: names ?? [],
    resourceVersion: body.metadata?.resourceVersion ?? '',
    continue: body.metadata?.continue ?? '',
    message: body.message ?? '',
  };
}

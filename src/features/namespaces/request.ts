/**
 * A list or watch of namespaces that is answered from the RBAC index, and what it needs.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { ListOptions } from '../../kubernetes/lists/list-options.ts';
import { withoutDigits } from '../../kubernetes/lists/shown-revision.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import type { ResponseMemory } from '../../limits/response-memory.ts';
import type { AccessSubjects } from '../../proxy/access-subject.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import type { WatchLifetimes } from '../../proxy/response/watch-lifetimes.ts';
import type { ListRequest } from '../../proxy/route-kind.ts';
import type { AccessChanges } from '../../rbac/access-changes.ts';
import type { AccessIndex, Verifier } from '../../rbac/access-index.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { CreatedNamespaces } from './created-namespaces.ts';
import type { NamespaceSelection } from './namespace-page.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';
import type { VisibleNamespacesCache } from './visible-namespaces-cache.ts';

/** What is known of the users: it lives as long as the index. */
export interface NamespacesMemory {
  readonly changes: AccessChanges;
  readonly views: VisibleNamespacesCache;
  readonly created: CreatedNamespaces;
}

export interface FilteredNamespacesOptions {
  readonly access: AccessIndex;
  readonly memory: NamespacesMemory;
  readonly subjects: AccessSubjects;
  readonly mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>;
  /** Whether another authorizer may allow what RBAC does not: then the API server is asked first. */
  readonly othersMayAllow: boolean;
  readonly verifier: Pick<Verifier, 'sampleNamespaces'>;
  readonly lifetimes: WatchLifetimes;
  readonly responseMemory: Pick<ResponseMemory, 'charged'>;
  readonly clock: Clock;
}

export interface NamespacesRequest {
  readonly outgoing: Outgoing;
  readonly info: ListRequest;
  readonly subject: SubjectByNamespace;
  /** The tenant whose namespaces are shown; empty if the API server has no tenants. */
  readonly tenant: string;
  readonly options: ListOptions;
  readonly selection: NamespaceSelection;
}

/** The user's namespaces, as the index has them now. */
export function viewOf(
  { subject, tenant }: Pick<NamespacesRequest, 'subject' | 'tenant'>,
  { memory }: Pick<FilteredNamespacesOptions, 'memory'>,
): VisibleNamespaces {
  return memory.views.viewOf(subject, tenant);
}

/** Milliseconds for which a request waits for the index. */
const TIMEOUT = 3_000;
/** Milliseconds between two looks. */
const LOOK = 50;

/** @returns whether it became true */
export async function waitUntil(isTrue: () => boolean, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const end = clock.now() + TIMEOUT;
  while (!isTrue()) {
    if (signal.aborted || clock.now() >= end) return false;
    await pause(clock, LOOK, signal);
  }
  return true;
}

/** @throws StatusError ResourceVersionTooLarge, in the API server's words */
export async function waitForRevision(
  { outgoing, options }: NamespacesRequest,
  { access: { index }, clock }: FilteredNamespacesOptions,
): Promise<void> {
  const asked = withoutDigits(options.resourceVersion, index.highestRevision);
  const isReached = () => BigInt(asked) <= BigInt(index.highestRevision);
  if (await waitUntil(isReached, clock, outgoing.exchange.signal)) return;
  throw new StatusError(
    'ResourceVersionTooLarge',
    `Timeout: Too large resource version: ${asked}, current: ${index.highestRevision}`,
    {
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    },
  );
}

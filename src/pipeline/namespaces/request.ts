/**
 * A list or watch of namespaces that is answered from the RBAC index, and what it needs.
 */
import type { AccessChanges } from '../../access/access-changes.ts';
import type { ListOptions } from '../../access/lists/list-options.ts';
import { withoutDigits } from '../../access/lists/shown-revision.ts';
import type { CreatedNamespaces } from '../../access/namespaces/created-namespaces.ts';
import type { NamespaceSelection } from '../../access/namespaces/namespace-page.ts';
import type { VisibleNamespaces } from '../../access/namespaces/visible-namespaces.ts';
import type { VisibleNamespacesCache } from '../../access/namespaces/visible-namespaces-cache.ts';
import type { AccessIndex } from '../../access/ports.ts';
import type { Verifier } from '../../access/verification.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { ResponseMemory } from '../../flowcontrol/response-memory.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { AccessSubjects } from '../rbac/access-subject.ts';
import type { Outgoing } from '../request-context.ts';
import type { WatchLifetimes } from '../response/watch-lifetimes.ts';
import type { ListRequest } from '../route-kind.ts';

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

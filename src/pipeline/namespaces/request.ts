/**
 * A list or watch of namespaces that is answered from the RBAC index, and what it needs: the user's visible
 * namespaces, and reviews of the API server where the index alone does not decide.
 */

import type { ListOptions } from '../../access/lists/list-options.ts';
import { ChangeLog } from '../../access/namespaces/change-log.ts';
import { ConfirmedNames } from '../../access/namespaces/confirmed-names.ts';
import { CreatedNamespaces } from '../../access/namespaces/created-namespaces.ts';
import type { NamespaceSelection } from '../../access/namespaces/namespace-list.ts';
import type { ReviewName } from '../../access/namespaces/reviews-of-user.ts';
import { ServedUsers } from '../../access/namespaces/served-users.ts';
import type { VisibleNamespaces } from '../../access/namespaces/visible-namespaces.ts';
import { VisibleNamespacesCache } from '../../access/namespaces/visible-namespaces-cache.ts';
import type { AccessIndex, TokenSealer } from '../../access/ports.ts';
import type { Verifier } from '../../access/verification.ts';
import type { ResourceRequest } from '../../api/request-info.ts';
import { type AccessReviewer, isAllowed, reviewSubject } from '../../authorization/access-reviewer.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { ResponseMemory } from '../../flowcontrol/response-memory.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { AccessSubjects } from '../rbac/access-subject.ts';
import type { OtherAuthorizers } from '../rbac/other-authorizers.ts';
import type { Outgoing } from '../request-context.ts';
import type { WatchLifetimes } from '../response/watch-lifetimes.ts';

export interface FilteredNamespacesOptions {
  readonly access: AccessIndex;
  readonly memory: NamespacesMemory;
  readonly subjects: AccessSubjects;
  readonly mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>;
  /** Undefined if RBAC alone authorizes users, so that the index knows what they may do. */
  readonly reviewer: AccessReviewer | undefined;
  readonly verifier: Pick<Verifier, 'sampleNamespaces'>;
  readonly sealer: TokenSealer;
  readonly lifetimes: WatchLifetimes;
  readonly responseMemory: Pick<ResponseMemory, 'charged'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

/** What is known of the users and of the changes: it lives as long as the index. */
export interface NamespacesMemory {
  readonly views: VisibleNamespacesCache;
  readonly changes: ChangeLog;
  readonly confirmed: ConfirmedNames;
  readonly created: CreatedNamespaces;
  readonly served: ServedUsers;
  /** Another in each process. */
  readonly instance: string;
}

export function createNamespacesMemory(
  access: Pick<AccessIndex, 'index' | 'stopped' | 'waitFor'>,
  clock: Clock,
  random: Random,
): NamespacesMemory {
  const { index, stopped } = access;
  const changes = new ChangeLog({ index, clock, stopped });
  return {
    views: new VisibleNamespacesCache({ index, clock }),
    changes,
    served: new ServedUsers(() => changes.known),
    confirmed: new ConfirmedNames(clock, () => changes.known),
    created: new CreatedNamespaces(access),
    instance: random.uuid(),
  };
}

/** What is made of the options once. */
export interface NamespacesState extends FilteredNamespacesOptions, NamespacesMemory {
  /** What they allow is forwarded. */
  readonly others: OtherAuthorizers;
}

/** A request that is answered from the index. */
export interface NamespacesRequest {
  readonly outgoing: Outgoing;
  readonly info: NamespacesInfo;
  readonly subject: SubjectByNamespace;
  /** Whose namespaces; empty if the API server has no tenants. */
  readonly tenant: string;
  readonly options: ListOptions;
  readonly selection: NamespaceSelection;
}

export interface NamespacesInfo extends ResourceRequest {
  readonly verb: 'list' | 'watch';
}

/** Reviews of the API server, where the index alone does not decide. */
export interface NameReviews {
  readonly review: ReviewName;
  /** @returns those of the names that are shown @throws StatusError as the reviews do */
  confirm(names: readonly string[]): Promise<ReadonlySet<string>>;
}

/** @returns undefined if no review is needed */
export function nameReviews(request: NamespacesRequest, state: NamespacesState): NameReviews | undefined {
  const { reviewer, confirmed } = state;
  const { outgoing } = request;
  if (reviewer === undefined) return undefined;
  const review: ReviewName = async (name) =>
    isReviewed(await state.subjects.requestAs(outgoing, name), name, reviewer, state);
  return {
    review,
    // Not a view that was dropped meanwhile.
    confirm: (names) =>
      confirmed.confirm({ view: viewOf(request, state), user: outgoing.user }, names, review),
  };
}

function isReviewed(
  outgoing: Outgoing,
  name: string,
  reviewer: AccessReviewer,
  { mode }: NamespacesState,
): Promise<boolean> {
  const subject = reviewSubject(outgoing, mode.reviewTenant);
  const { home } = subject;
  const resourceAttributes = {
    ...{ verb: 'get', resource: 'namespaces', namespace: name, name },
    ...(home !== undefined && { tenant: home }),
  };
  return isAllowed(reviewer, subject, { resourceAttributes }, outgoing.exchange.signal);
}

/** The user's namespaces, as the index has them. */
export function viewOf(
  { subject, tenant }: NamespacesRequest,
  { views }: NamespacesState,
): VisibleNamespaces {
  return views.viewOf(subject, tenant);
}

/** Milliseconds for which a revision is waited for. */
export const REVISION_TIMEOUT = 3_000;

/** @throws StatusError ResourceVersionTooLarge, in the API server's words */
export async function waitForRevision(
  revision: number,
  { outgoing }: NamespacesRequest,
  { access }: NamespacesState,
): Promise<void> {
  if (await access.waitFor(revision, REVISION_TIMEOUT, outgoing.exchange.signal)) return;
  throw new StatusError(
    'ResourceVersionTooLarge',
    `Timeout: Too large resource version: ${revision}, current: ${access.index.revision}`,
    {
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    },
  );
}

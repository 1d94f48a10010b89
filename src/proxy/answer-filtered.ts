/**
 * Chooses between a filtered response and the API server's, for lists and watches that RBAC does not allow as
 * they are: another authorizer may allow them. See docs/access.md, "Who decides".
 */

import { StatusError } from '../errors/status-error.ts';
import { type AccessReviewer, isAllowed, resourceAttributesOf } from '../kubernetes/access-reviewer.ts';
import { hasDigits } from '../kubernetes/lists/shown-revision.ts';
import { firstParameter } from '../lib/query.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { reviewSubject } from './acting-tenant.ts';
import type { Handled, OwnResponse } from './feature.ts';
import type { Outgoing } from './request-context.ts';
import { EXPIRED_WATCH } from './response/own-responses.ts';
import type { ListRequest } from './route-kind.ts';
import { scopeRefusal } from './scope-guard.ts';

export interface FilteringOptions {
  readonly mode: Pick<TenancyMode, 'reviewTenant'>;
  /** Whether another authorizer may allow what RBAC does not: then the API server is asked first. */
  readonly othersMayAllow: boolean;
  readonly reviewer: AccessReviewer;
}

export interface FilteredAnswer {
  readonly outgoing: Outgoing;
  readonly info: ListRequest;
  /** Whether it is a watch that goes on from a filtered list. */
  readonly goesOn: boolean;
  /** Whether RBAC allows the request itself. */
  readonly isAllowed: () => boolean;
  readonly filtered: () => Promise<OwnResponse | undefined>;
}

/** @throws StatusError UpgradeUnavailable; as the reviewer does */
export async function answerFiltered(answer: FilteredAnswer, options: FilteringOptions): Promise<Handled> {
  const { outgoing, info, goesOn, filtered } = answer;
  const { othersMayAllow } = options;
  if (outgoing.exchange.upgrade !== undefined) {
    if (othersMayAllow && !goesOn && (await mayListAll(answer, options))) return undefined;
    throw plainWatchOnly();
  }
  if (!othersMayAllow) return filtered();
  if (goesOn) return (await mayListAll(answer, options)) ? EXPIRED_WATCH : filtered();
  const revision = revisionOf(info);
  // The list of such a watch was not filtered.
  if (info.verb === 'watch' && revision !== '' && revision !== '0') return undefined;
  return answer.isAllowed() ? filtered() : { insteadOfForbidden: filtered };
}

/**
 * Whether it is a watch that goes on from a filtered list.
 *
 * @param highestRevision that the index knows
 */
export function goesOnFromFiltered(info: ListRequest, highestRevision: number): boolean {
  return info.verb === 'watch' && hasDigits(revisionOf(info), highestRevision);
}

/** Nothing filters what is sent as WebSocket messages; fabric8 and others then ask without an upgrade. */
export function plainWatchOnly(): StatusError {
  return new StatusError(
    'UpgradeUnavailable',
    'this watch is filtered, which Stonegate does not do over WebSocket: ask by a plain GET',
  );
}

function revisionOf({ rawQuery }: ListRequest): string {
  return firstParameter(rawQuery, 'resourceVersion') ?? '';
}

/**
 * Asks about the list also for a watch: a user who may watch but not list would otherwise get a filtered
 * list and 410 for the watch from it, again and again.
 */
async function mayListAll(
  { outgoing, info }: FilteredAnswer,
  { mode, reviewer }: FilteringOptions,
): Promise<boolean> {
  const list = { ...info, verb: 'list' };
  if (scopeRefusal({ ...outgoing, info: list }, mode) !== undefined) return false;
  const subject = reviewSubject(outgoing, mode.reviewTenant);
  const resourceAttributes = resourceAttributesOf(list, info.tenant === '' ? subject.home : info.tenant);
  return isAllowed(reviewer, subject, { resourceAttributes }, outgoing.exchange.signal);
}

/**
 * Why a list or a watch of the RBAC index ended, and what that means.
 */
import { StatusError } from '../errors/status-error.ts';
import type { IndexFailure, IndexListReason } from '../lib/telemetry.ts';
import { ListExpired, MalformedList, UnexpectedStatus } from './list-pages.ts';
import { MalformedObject } from './read-rbac-object.ts';
import { WatchGarbage } from './watch-events.ts';

/** The watch cannot go on from its revision, or has to be checked. */
export class ListNeeded extends Error {
  readonly reason: IndexListReason;

  constructor(reason: IndexListReason) {
    super(`a new list is needed: ${reason}`);
    this.reason = reason;
  }
}

/** Nothing has arrived for too long: the connection may be dead. */
export class WatchSilent extends Error {
  constructor() {
    super('the watch was silent for too long');
  }
}

/** @returns `expired` if the API server has forgotten the revision */
export function failureOf(error: unknown): IndexFailure | 'expired' {
  if (error instanceof WatchSilent) return 'silent';
  if (error instanceof WatchGarbage || error instanceof MalformedObject || error instanceof MalformedList)
    return 'garbage';
  if (error instanceof ListExpired) return 'expired';
  if (error instanceof UnexpectedStatus) return failureOfStatus(error.status);
  if (!(error instanceof StatusError)) return 'status';
  return error.code === 'UpstreamRefusedCredential' ? 'refused' : 'unreachable';
}

function failureOfStatus(status: number): IndexFailure | 'expired' {
  if (status === 410) return 'expired';
  return status === 401 || status === 403 ? 'refused' : 'status';
}

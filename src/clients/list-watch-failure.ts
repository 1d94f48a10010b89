/**
 * Why a list or a watch ended, and what that means.
 */

import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
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

const LOG_INTERVAL = 60_000;
const REFUSED =
  'the API server does not let Stonegate list and watch a resource: apply the output of `stonegate manifests rbac --config FILE`';
const REFUSED_CREDENTIAL = "the API server refuses Stonegate's credential";

interface FailureLogOptions {
  readonly resource: string;
  readonly apiGroup: string;
  /** What follows the API server: a noun for messages. */
  readonly follower: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Logs failures of one resource once a minute: an API server may be down for hours. */
export class FailureLog {
  readonly #options: FailureLogOptions;
  /** Milliseconds since the epoch. */
  #quietUntil = 0;
  #isFailing = false;

  constructor(options: FailureLogOptions) {
    this.#options = options;
  }

  report(error: unknown): void {
    this.#isFailing = true;
    this.mention(error);
  }

  /** What does not stop the resource from being followed. */
  mention(error: unknown): void {
    const { clock, logger, resource, follower } = this.#options;
    const now = clock.now();
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + LOG_INTERVAL;
    if (error instanceof UnexpectedStatus && error.status === 403)
      logger.error({ missingRule: ruleFor(this.#options) }, `${follower}: ${REFUSED}`);
    else if (failureOf(error) === 'refused')
      logger.error({ resource, reason: messageOf(error) }, `${follower}: ${REFUSED_CREDENTIAL}`);
    else logger.warn({ resource, error }, `${follower} could not follow the API server`);
  }

  recovered(): void {
    const { logger, resource, follower } = this.#options;
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#quietUntil = 0;
    logger.info({ resource }, `${follower} follows the API server again`);
  }
}

/** As it is written in a ClusterRole. */
function ruleFor({ apiGroup, resource }: FailureLogOptions): string {
  return JSON.stringify({ apiGroups: [apiGroup], resources: [resource], verbs: ['list', 'watch'] });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

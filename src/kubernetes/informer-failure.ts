/**
 * Why a list or a watch ended, and what the operator is told of it.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { InformerFailure, InformerListReason } from '../lib/telemetry.ts';
import { MalformedObject, UnexpectedStatus } from './list-pages.ts';

/** The watch cannot go on from its revision, or has to be checked. */
export class ListNeeded extends Error {
  readonly reason: InformerListReason;

  constructor(reason: InformerListReason) {
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

export function failureOf(error: unknown): InformerFailure {
  if (error instanceof WatchSilent) return 'silent';
  if (error instanceof MalformedObject) return 'garbage';
  if (error instanceof UnexpectedStatus)
    return error.status === 401 || error.status === 403 ? 'refused' : 'status';
  if (!(error instanceof StatusError)) return 'status';
  return error.code === 'UpstreamRefusedCredential' ? 'refused' : 'unreachable';
}

const LOG_INTERVAL = 60_000;

interface FailureLogOptions {
  /** The informers that belong together. */
  readonly name: string;
  readonly resource: string;
  readonly apiGroup: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Logs the failures of one informer once a minute: an API server may be down for hours. */
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

  /** Logs an error that does not stop the informer. */
  mention(error: unknown): void {
    const { clock, logger, name: informer, resource, apiGroup } = this.#options;
    const now = clock.now();
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + LOG_INTERVAL;
    if (error instanceof UnexpectedStatus && error.status === 403)
      logger.error(
        {
          informer,
          missingRule: JSON.stringify({
            apiGroups: [apiGroup],
            resources: [resource],
            verbs: ['list', 'watch'],
          }),
        },
        'informer: the API server does not let Stonegate list and watch a resource: apply the output of `stonegate manifests rbac --config FILE`',
      );
    else if (failureOf(error) === 'refused') {
      const reason = error instanceof Error ? error.message : String(error);
      logger.error({ informer, resource, reason }, "informer: the API server refuses Stonegate's credential");
    } else
      logger.warn({ informer, resource, error }, 'informer: the API server could not be listed or watched');
  }

  recovered(): void {
    const { logger, name: informer, resource } = this.#options;
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#quietUntil = 0;
    logger.info({ informer, resource }, 'informer: the API server is watched again');
  }
}

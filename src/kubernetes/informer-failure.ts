/**
 * Classifies why a list or a watch failed, and describes it for the log.
 */
import { StatusError } from '../errors/status-error.ts';
import { messageOf } from '../lib/error-code.ts';
import type { Logger } from '../lib/logger.ts';
import type { InformerFailure, InformerListReason } from './informer-metrics.ts';
import { MalformedObject, UnexpectedStatus } from './list-watch.ts';

/** The watch cannot continue from its revision, or has to be checked. */
export class ListNeeded extends Error {
  readonly reason: InformerListReason;

  constructor(reason: InformerListReason) {
    super(`a new list is needed: ${reason}`);
    this.reason = reason;
  }
}

/** Nothing has arrived for too long: the connection may be dead. */
export const SILENT = new Error('the watch was silent for too long');

export function failureOf(error: unknown): InformerFailure {
  if (error === SILENT) return 'silent';
  if (error instanceof MalformedObject) return 'garbage';
  if (error instanceof UnexpectedStatus)
    return error.status === 401 || error.status === 403 ? 'refused' : 'status';
  if (!(error instanceof StatusError)) return 'status';
  return error.code === 'UpstreamRefusedCredential' ? 'refused' : 'unreachable';
}

const NO_RIGHT =
  'informer: the API server does not let Stonegate list and watch a resource: apply the output of `stonegate manifests rbac --config FILE`';

/** @param path of the list */
export function logFailure(
  logger: Logger,
  {
    informer,
    resource,
    path,
  }: { readonly informer: string; readonly resource: string; readonly path: string },
  error: unknown,
): void {
  if (error instanceof UnexpectedStatus && error.status === 403) {
    const [, group = ''] = /^\/apis\/([^/]+)/.exec(path) ?? [];
    const rule = { apiGroups: [group], resources: [resource], verbs: ['list', 'watch'] };
    logger.error({ informer, missingRule: JSON.stringify(rule) }, NO_RIGHT);
  } else if (failureOf(error) === 'refused') {
    const reason = messageOf(error);
    logger.error({ informer, resource, reason }, "informer: the API server refuses Stonegate's credential");
  } else
    logger.warn({ informer, resource, error }, 'informer: the API server could not be listed or watched');
}

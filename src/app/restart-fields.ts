/**
 * The fields that the process and its listeners keep from the start: a reload does not change them.
 */
import { fieldAt } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import { DEFINITIONS } from './configuration.ts';

export const RESTART_FIELDS = DEFINITIONS.flatMap(({ restartFields = [] }) => restartFields);

/** Tells the operator which changes have no effect before a restart. */
export function warnOfRestart(started: object, next: object, logger: Pick<Logger, 'warn'>): void {
  const valueIn = (configuration: object, field: string) => fieldAt(configuration, ...field.split('.'));
  const fields = RESTART_FIELDS.filter((field) => valueIn(started, field) !== valueIn(next, field));
  if (fields.length > 0) logger.warn({ fields }, 'these changes need a restart');
}

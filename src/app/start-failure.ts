/**
 * Says which setting of the configuration prevents the start. Unexpected errors are logged with their stack
 * instead.
 */
import type { AdmissionProcessConfiguration, StonegateConfiguration } from '../config/configuration.ts';
import { FileNotOpened } from '../lib/file-errors.ts';
import { isJSONObject } from '../lib/json-object.ts';
import { AddressError } from '../server/listen.ts';
import { WorkerStartError } from '../server/worker-pool.ts';

/** @returns a sentence for the operator; undefined for an unexpected error */
export function startFailure(
  error: unknown,
  configuration: StonegateConfiguration | AdmissionProcessConfiguration,
): string | undefined {
  if (error instanceof WorkerStartError) return `${error.message}; its own line in the log says why`;
  if (error instanceof FileNotOpened) return `${settingOf(error, configuration)} ${error.message}`;
  if (!(error instanceof AddressError)) return undefined;
  const settings = Object.entries(configuration)
    .filter(([, section]) => bindOf(section) === error.bind)
    .map(([name]) => `${name}.bind`);
  return `${settings.join(' and ')} ${error.message}`;
}

function settingOf(
  { file }: FileNotOpened,
  configuration: StonegateConfiguration | AdmissionProcessConfiguration,
): string {
  const isUsage = 'usage' in configuration && configuration.usage?.records === file;
  // Both may name the same file, which is then opened for the audit log.
  return isUsage && configuration.audit.file !== file ? 'usage.records' : 'audit.file';
}

function bindOf(section: unknown): unknown {
  return isJSONObject(section) ? section.bind : undefined;
}

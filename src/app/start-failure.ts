/**
 * Says which setting of the configuration prevents the start. Unexpected errors are logged with their stack
 * instead.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { FileNotOpened } from '../lib/file-errors.ts';
import { AddressError } from '../server/listen.ts';
import { WorkerStartError } from '../server/worker-pool.ts';

/** @returns a sentence for the operator; undefined for an unexpected error */
export function startFailure(error: unknown, configuration: StonegateConfiguration): string | undefined {
  if (error instanceof WorkerStartError) return `${error.message}; its own line in the log says why`;
  if (error instanceof FileNotOpened) return `audit.file ${error.message}`;
  if (!(error instanceof AddressError)) return undefined;
  const { server, admin, portal, webhook } = configuration;
  const settings = Object.entries({ server, admin, portal, webhook })
    .filter(([, listener]) => listener?.bind === error.bind)
    .map(([name]) => `${name}.bind`);
  return `${settings.join(' and ')} ${error.message}`;
}

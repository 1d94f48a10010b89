/**
 * Opens the usage meter with its file. If that is the audit log's, both write through one sink: two writers
 * of one pipe would mix their lines.
 */

import type { RequestedTotals, UsageConfiguration } from '../features/usage/feature.ts';
import type { Runtime } from '../lib/runtime.ts';
import { createAuditFile } from '../observability/audit-file.ts';
import type { AuditSink } from '../observability/audit-log.ts';
import { createUsageMeter, type UsageMeter } from './build-features.ts';

export interface OpenUsage extends Pick<UsageMeter, 'observer' | 'current'> {
  /** Opens the file again, after a log rotation. */
  reopen(): void;
  /** Writes the last records. */
  close(): Promise<void>;
}

/**
 * @param requested what quota counts; empty if it does not
 * @throws FileNotOpened
 */
export async function openUsage(
  { records: file }: UsageConfiguration,
  audit: { readonly file: string; readonly sink: AuditSink },
  runtime: Runtime,
  requested: () => readonly RequestedTotals[],
): Promise<OpenUsage> {
  const { clock, random } = runtime;
  const own =
    file === audit.file
      ? undefined
      : await createAuditFile({ ...runtime, file, content: 'usage records', lost() {} });
  const sink = own ?? audit.sink;
  const process = random.uuid();
  const { observer, current, close } = createUsageMeter({ process, sink, clock, requested });
  return {
    observer,
    current,
    reopen: () => own?.reopen(),
    async close() {
      close();
      await own?.close();
    },
  };
}

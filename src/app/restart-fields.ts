/**
 * The fields that the process and its listeners keep from the start: a reload does not change them.
 */
import type { StonegateConfiguration } from '../config/configuration.ts';
import type { Logger } from '../lib/logger.ts';

/** Tells the operator which changes have no effect before a restart. */
export function warnOfRestart(
  started: StonegateConfiguration,
  next: StonegateConfiguration,
  logger: Pick<Logger, 'warn'>,
): void {
  const before = needsRestart(started);
  const after = needsRestart(next);
  const fields = Object.keys(before).filter((field) => before[field] !== after[field]);
  if (fields.length > 0) logger.warn({ fields }, 'these changes need a restart');
}

/** The fields with their values. */
function needsRestart({
  server,
  admin,
  audit,
  usage,
  portal,
  webhook,
  admission,
}: StonegateConfiguration): Readonly<Record<string, unknown>> {
  return {
    'server.bind': server.bind,
    'server.http2': server.http2,
    'server.workers': server.workers,
    'server.drain': server.drain,
    'server.shutdownGrace': server.shutdownGrace,
    'server.timeouts.header': server.timeouts.header,
    'server.timeouts.idle': server.timeouts.idle,
    'server.timeouts.stall': server.timeouts.stall,
    'server.limits.headerBytes': server.limits.headerBytes,
    'admin.bind': admin.bind,
    'audit.file': audit.file,
    'usage.records': usage?.records,
    'usage.metrics': usage?.metrics,
    'portal.bind': portal?.bind,
    'webhook.bind': webhook?.bind,
    'admission.bind': admission?.bind,
  };
}

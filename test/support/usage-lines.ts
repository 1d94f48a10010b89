/** Usage records as the meters of a test’s processes write them, with one clock. */
import { createUsageMeter, type UsageMeter } from '../../src/features/usage/build.ts';
import type { RequestedTotals } from '../../src/features/usage/feature.ts';
import { type UsageLine, usageLineSchema } from '../../src/features/usage/usage-v1alpha1.ts';
import { parseJSON } from '../../src/lib/parse-json.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import type { FakeClock } from './fake-clock.ts';

/** Parses a line that Stonegate has written. */
export function usageLine(text: string): UsageLine {
  const line = parseJSON(text, usageLineSchema);
  if (line === undefined) throw new Error(`no usage line: ${text}`);
  return line;
}

export interface WritingMeter extends UsageMeter {
  /** The lines that were written so far. */
  readonly lines: readonly string[];
}

export function writingMeter(
  process: string,
  clock: FakeClock,
  requested: () => readonly RequestedTotals[] = () => [],
): WritingMeter {
  const lines: string[] = [];
  const sink = { write: (...parts: readonly string[]) => void lines.push(parts.join('')) };
  return { ...createUsageMeter({ process, sink, clock, requested }), lines };
}

export function infoOf(method: string, target: string) {
  return readRequestInfo(method, target, { hasTenantsInPaths: true });
}

/**
 * Prints sums of usage: a table in hours and GiB to be read, CSV and JSON in the records' units for
 * programs.
 */
import { MEASURES, type Usage } from '../../features/usage/usage-v1alpha1.ts';
import { columns, jsonOf } from '../command.ts';
import type { Grouping, UsageGap, UsageRow } from './usage-sums.ts';

const KEYS: Readonly<Record<Grouping, readonly string[]>> = {
  tenant: ['tenant'],
  project: ['tenant', 'project'],
  day: ['day'],
};

const HOUR = 3_600;
const GIBIBYTE = 2 ** 30;

const REQUESTS = MEASURES.filter((measure) => measure.endsWith('Requests'));

const COLUMNS: Readonly<Record<string, (usage: Usage) => number>> = {
  REQUESTS: (usage) => REQUESTS.reduce((sum, measure) => sum + usage[measure], 0),
  REFUSALS: ({ refusals }) => refusals,
  'RECEIVED GIB': ({ receivedBytes }) => receivedBytes / GIBIBYTE,
  'SENT GIB': ({ sentBytes }) => sentBytes / GIBIBYTE,
  'STREAM HOURS': ({ streamSeconds }) => streamSeconds / HOUR,
  'CPU HOURS': ({ requestedCpuSeconds }) => requestedCpuSeconds / HOUR,
  'MEMORY GIB HOURS': ({ requestedMemoryByteSeconds }) => requestedMemoryByteSeconds / GIBIBYTE / HOUR,
  'POD HOURS': ({ podSeconds }) => podSeconds / HOUR,
  'STORAGE GIB HOURS': ({ storageByteSeconds }) => storageByteSeconds / GIBIBYTE / HOUR,
};

/** Columns without any amount are left out. */
export function tableOf(rows: readonly UsageRow[], by: Grouping): string {
  const shown = Object.entries(COLUMNS).filter(([, read]) => rows.some(({ usage }) => read(usage) > 0));
  const header = [...KEYS[by].map((key) => key.toUpperCase()), ...shown.map(([name]) => name)];
  return columns([
    header,
    ...rows.map(({ key, usage }) => [...key, ...shown.map(([, read]) => shortened(read(usage)))]),
  ]);
}

function shortened(amount: number): string {
  if (Number.isInteger(amount)) return String(amount);
  return amount < 0.001 ? '<0.001' : amount.toFixed(3);
}

/** RFC 4180. */
export function csvOf(rows: readonly UsageRow[], by: Grouping): string {
  const lines = [
    [...KEYS[by], ...MEASURES],
    ...rows.map(({ key, usage }) => [...key, ...MEASURES.map((measure) => String(rounded(usage[measure])))]),
  ];
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function reportOf(rows: readonly UsageRow[], gaps: readonly UsageGap[], by: Grouping): string {
  const report = {
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'UsageReport',
    rows: rows.map(({ key, usage }) => ({
      ...Object.fromEntries(KEYS[by].map((name, at) => [name, key[at]])),
      usage: Object.fromEntries(MEASURES.map((measure) => [measure, rounded(usage[measure])])),
    })),
    gaps: gaps.map(({ process, lines, from, to }) => ({
      ...{ process, lines },
      ...(from !== undefined && { from: new Date(from) }),
      to: new Date(to),
    })),
  };
  return jsonOf(report);
}

/** Sums of thousandths are not exact in binary. */
function rounded(amount: number): number {
  return Math.round(amount * 1_000) / 1_000;
}

export function gapText({ process, lines, from, to }: UsageGap): string {
  const [since, until] = [from, to].map((time) => time !== undefined && new Date(time).toISOString());
  if (lines === undefined) return `process ${process} was killed: what it did after ${since} is missing`;
  if (since === false) return `the first ${lines} lines of process ${process}, before ${until}, are missing`;
  return `${lines} of the lines of process ${process} between ${since} and ${until} ${lines === 1 ? 'is' : 'are'} missing`;
}

/** The report of a soak test: what was done, what each round left behind, and plots from Prometheus. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Prometheus } from '../support/prometheus/prometheus.ts';
import type { Fault } from './faults.ts';
import { type Holdings, megabytes } from './holdings.ts';
import { plotSVG } from './plot.ts';
import type { Verdicts } from './verdicts.ts';

export interface SoakResult {
  readonly minutes: number;
  /** Seconds since the epoch. */
  readonly from: number;
  readonly faults: readonly Fault[];
  readonly rounds: readonly Holdings[];
  readonly grown: readonly string[];
  readonly verdicts: Verdicts;
}

interface Chart {
  readonly file: string;
  readonly title: string;
  readonly unit: string;
  readonly queries: readonly { readonly expr: string; readonly name: string }[];
}

const MB = 2 ** 20;
const CHARTS: readonly Chart[] = [
  {
    file: 'memory',
    title: 'Memory',
    unit: 'MB',
    queries: [
      { expr: `process_resident_memory_bytes / ${MB}`, name: 'resident' },
      { expr: `nodejs_heap_size_used_bytes / ${MB}`, name: 'heap' },
    ],
  },
  {
    file: 'connections',
    title: 'Connections and descriptors',
    unit: 'number',
    queries: [
      { expr: 'process_open_fds', name: 'descriptors' },
      { expr: 'sum(stonegate_connections_open)', name: 'connections of clients' },
      { expr: 'sum(stonegate_requests_active{kind="watch"})', name: 'open watches' },
    ],
  },
  {
    file: 'responses',
    title: 'Responses by status',
    unit: 'per second',
    queries: [{ expr: 'sum by (status) (rate(stonegate_requests_total[5s]))', name: 'status' }],
  },
  {
    file: 'backends',
    title: 'Failed calls by backend',
    unit: 'per second',
    queries: [
      {
        expr: 'sum by (backend) (rate(stonegate_backend_duration_seconds_count{result!="ok"}[5s]))',
        name: 'backend',
      },
    ],
  },
];

/** Writes `report.md` and its plots. */
export async function writeReport(folder: string, result: SoakResult, prometheus: Prometheus): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const chart of CHARTS)
    await writeFile(join(folder, `${chart.file}.svg`), await draw(chart, result, prometheus));
  await writeFile(join(folder, 'report.md'), textOf(result));
}

async function draw(
  { title, unit, queries }: Chart,
  { from, faults }: SoakResult,
  prometheus: Prometheus,
): Promise<string> {
  const minutes = (at: number): number => (at - from) / 60;
  const found = await Promise.all(
    queries.map(async ({ expr, name }) => ({ name, samples: await prometheus.queryRange(expr, from) })),
  );
  const lines = found.flatMap(({ name, samples }) =>
    samples.map(({ metric, values }) => ({
      name: metric[name] === undefined ? name : `${name} ${metric[name]}`,
      points: values.map(([at, value]): [number, number] => [minutes(at), Number(value)]),
    })),
  );
  const marked = faults.map((fault) => ({ from: minutes(fault.from), to: minutes(fault.to) }));
  return plotSVG({ title, unit, lines, marked });
}

function textOf({ minutes, faults, rounds, grown, verdicts }: SoakResult): string {
  const rows = rounds.map(
    ({ heap, resident, sockets, timers, descriptors }, at) =>
      `| ${at + 1} | ${megabytes(heap)} | ${megabytes(resident)} | ${sockets} | ${timers} | ${descriptors} |`,
  );
  const counts = [...verdicts.counts].sort().map(([key, count]) => `| ${key} | ${count} |`);
  const wrong = verdicts.wrong.map((each) => `- ${each}`);
  const plots = CHARTS.map(({ file, title }) => `![${title}](${file}.svg)`);
  return `# Soak test

\`npm run soak -- --minutes ${minutes}\`: ${verdicts.total} requests and watches, ${faults.length} faults and reloads (grey in the plots),
${verdicts.wrongTotal} wrong responses; ${grown.length === 0 ? 'nothing has grown' : `grown: ${grown.join('; ')}`}.

## What each round left behind

After each round all clients disconnect and every backend is down, so that no connection is idle; then garbage is collected.

| round | heap | resident | sockets | timers | descriptors |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

## Plots

${plots.join('\n\n')}

## Responses

503, 504 and broken connections occur only while a backend is down that the request needs.

| request: status | number |
| --- | --- |
${counts.join('\n')}
${wrong.length === 0 ? '' : `\n## Wrong responses\n\n${wrong.join('\n')}\n`}`;
}

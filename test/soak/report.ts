/** The report of a soak test: what was done, what each round left behind, and plots from Prometheus. */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
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
  /** `$step` is replaced with the seconds between two values. */
  readonly queries: readonly { readonly expr: string; readonly name: string }[];
}

/** Values of a line: a plot has about as many columns of pixels for them. */
const VALUES = 600;
/** Seconds. Over fewer, a rate of what is scraped each second has gaps. */
const SHORTEST_STEP = 5;

/** Of the table of rounds, about. */
const ROWS = 20;

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
    queries: [{ expr: 'sum by (status) (rate(stonegate_requests_total[$step]))', name: 'status' }],
  },
  {
    file: 'backends',
    title: 'Failed calls by backend',
    unit: 'per second',
    queries: [
      {
        expr: 'sum by (backend) (rate(stonegate_backend_duration_seconds_count{result!="ok"}[$step]))',
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
  const step = Math.max(SHORTEST_STEP, Math.ceil((Date.now() / 1000 - from) / VALUES));
  const found = await Promise.all(
    queries.map(async ({ expr, name }) => ({
      name,
      samples: await prometheus.queryRange(expr.replace('$step', `${step}s`), from, step),
    })),
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
  const every = Math.ceil(rounds.length / ROWS);
  const rows = rounds
    .map(
      ({ heap, resident, connections, timers, descriptors }, at) =>
        `| ${at + 1} | ${megabytes(heap)} | ${megabytes(resident)} | ${connections.length} | ${timers.length} | ${descriptors.length} |`,
    )
    .filter((_row, at) => at % every === 0 || at === rounds.length - 1);
  const counts = [...verdicts.counts].sort().map(([key, count]) => `| ${key} | ${count} |`);
  const wrong = verdicts.wrong.map((each) => `- ${each}`);
  const average = loadavg()[2]?.toFixed(1);
  const plots = CHARTS.map(({ file, title }) => `![${title}](${file}.svg)`);
  return `# Soak test

\`npm run soak -- --minutes ${minutes}\`: ${verdicts.total} requests and watches, ${faults.length} faults and reloads (grey in the plots),
${verdicts.wrongTotal} wrong responses; ${grown.length === 0 ? 'nothing has grown' : `grown: ${grown.join('; ')}`}.

Load, Redis, Prometheus and the stand-ins of the backends ran on the same machine (${availableParallelism()} processors, load average ${average}
in the last 15 minutes): the report is about correctness and about what grows, not about speed.

## What each round left behind

After each round all clients disconnect and every backend is down, so that no connection is idle; then garbage is collected.
Connections of the admin listener are not counted: Prometheus holds one. The lowest of several measurements counts, because
attempts to connect come and go. Connections must be 0, timers and descriptors not more than after the first round, the heap
not more than 1.25 times and 12 MB more: in each of the ${rounds.length} rounds. Resident memory may be 1.5 times and 64 MB more, since the system
gets pages back late. The table shows some of them.

| round | heap | resident | connections | timers | descriptors |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

## Plots

${plots.join('\n\n')}

## Responses

503, 504 and broken connections occur only while a backend is down that the request needs. The hostile tenant sends far more than its
limits allow, so 429 is what it should get. "Own objects" are requests of users for what they may read.

| request: status | number |
| --- | --- |
${counts.join('\n')}
${wrong.length === 0 ? '' : `\n## Wrong responses\n\n${wrong.join('\n')}\n`}`;
}

/**
 * `/metrics/usage`: counters with tenant and project as labels, in a bounded number. A worker that exits or
 * is late takes nothing away: Prometheus would take a sum that falls for a restart, and count it all again.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
import { z } from 'zod';
import { UsageTable } from './usage-table.ts';
import { amountsSchema, MEASURES, type ProjectUsage, type Usage } from './usage-v1alpha1.ts';

const MAX_SERIES = 20_000;
/** One is left for `other`. */
export const MAX_SHOWN_PROJECTS = Math.floor(MAX_SERIES / MEASURES.length) - 1;

interface UsageMetric {
  readonly name: string;
  readonly help: string;
  /** Measure → its further label. */
  readonly series: Partial<Record<keyof Usage, string>>;
  /** Whether series of zero are left out: those of quota, which may be off. */
  readonly sparse?: true;
}

const METRICS: readonly UsageMetric[] = [
  {
    name: 'requests',
    help: 'Requests that have ended, by class.',
    series: {
      getRequests: ',class="get"',
      listRequests: ',class="list"',
      watchRequests: ',class="watch"',
      writeRequests: ',class="write"',
      connectRequests: ',class="connect"',
    },
  },
  { name: 'refusals', help: 'Requests that Stonegate itself refused.', series: { refusals: '' } },
  {
    name: 'received_bytes',
    help: 'Bytes of bodies and tunnels from clients.',
    series: { receivedBytes: '' },
  },
  { name: 'sent_bytes', help: 'Bytes of bodies and tunnels to clients.', series: { sentBytes: '' } },
  { name: 'stream_seconds', help: 'Seconds that streams were open.', series: { streamSeconds: '' } },
  {
    name: 'requested_cpu_seconds',
    help: 'Requested CPU cores, times seconds.',
    series: { requestedCpuSeconds: '' },
    sparse: true,
  },
  {
    name: 'requested_memory_byte_seconds',
    help: 'Requested bytes of memory, times seconds.',
    series: { requestedMemoryByteSeconds: '' },
    sparse: true,
  },
  { name: 'pod_seconds', help: 'Pods, times seconds.', series: { podSeconds: '' }, sparse: true },
  {
    name: 'storage_byte_seconds',
    help: 'Requested bytes of storage, times seconds.',
    series: { storageByteSeconds: '' },
    sparse: true,
  },
];

const processUsageSchema = z.strictObject({
  process: z.string(),
  projects: z.array(z.strictObject({ tenant: z.string(), project: z.string(), usage: amountsSchema })),
});

/** What a process has counted since its start. */
export interface ProcessUsage {
  readonly process: string;
  readonly projects: readonly ProjectUsage[];
}

export class UsageExposition {
  /** What was read last, by slot of the worker. */
  readonly #last = new Map<number, ProcessUsage>();
  /** The usage of processes that have ended. */
  readonly #ended = new UsageTable(MAX_SHOWN_PROJECTS);
  readonly #shown = new UsageTable(MAX_SHOWN_PROJECTS);

  /** @param parts slot → its `ProcessUsage`, which may come over a channel; a slot that is missing is late */
  text(parts: ReadonlyMap<number, object>): string {
    for (const [slot, part] of parts) {
      const { data } = processUsageSchema.safeParse(part);
      if (data === undefined) continue;
      const last = this.#last.get(slot);
      if (last !== undefined && last.process !== data.process) this.#ended.addAll(last.projects);
      this.#last.set(slot, data);
    }
    this.#shown.reset();
    this.#shown.addAll(this.#ended.rows());
    for (const { projects } of this.#last.values()) this.#shown.addAll(projects);
    const rows = [...this.#shown.rows()];
    return METRICS.map((metric) => textOf(metric, rows)).join('');
  }
}

function textOf({ name: what, help, series, sparse }: UsageMetric, rows: readonly ProjectUsage[]): string {
  const name = `stonegate_usage_${what}_total`;
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} counter`];
  for (const { tenant, project, usage } of rows) {
    // JSON escapes quotes, backslashes and line feeds as this format does.
    const labels = `tenant=${JSON.stringify(tenant)},project=${JSON.stringify(project)}`;
    for (const measure of MEASURES) {
      const label = series[measure];
      const amount = usage[measure] ?? 0;
      if (label !== undefined && !(sparse && amount === 0))
        lines.push(`${name}{${labels}${label}} ${amount}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

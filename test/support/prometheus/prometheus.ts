/** A real Prometheus that scrapes Stonegate and evaluates the delivered rules. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { freePort } from '../free-port.ts';
import { startServerProcess } from '../kubernetes/process.ts';
import { RULES } from './rules.ts';

/** Why tests with Prometheus cannot run here; undefined if they can. */
export function prometheusMissing(): string | undefined {
  return spawnSync('promtool', ['--version']).error === undefined
    ? undefined
    : 'prometheus is not installed: apt-get install prometheus';
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  /** Times in seconds since the epoch, with values. */
  readonly values: readonly (readonly [at: number, value: string])[];
}

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

export interface PrometheusOptions {
  readonly folder: string;
  /** `host:port` of the scraped target. */
  readonly target: string;
}

/** Short, so that a test has rates quickly; long enough for a scrape on a busy machine. */
const INTERVAL = '1s';

export async function startPrometheus({ folder, target }: PrometheusOptions) {
  const file = join(folder, 'prometheus.yaml');
  const scrape = {
    job_name: 'stonegate',
    static_configs: [{ targets: [target], labels: { namespace: 'stonegate' } }],
  };
  const configuration = {
    global: { scrape_interval: INTERVAL, scrape_timeout: INTERVAL, evaluation_interval: INTERVAL },
    rule_files: [resolve(RULES)],
    scrape_configs: [scrape],
  };
  writeFileSync(file, stringify(configuration));
  const port = await freePort();
  const server = startServerProcess(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    join(folder, 'prometheus.log'),
  );
  const address = `http://127.0.0.1:${port}`;
  await server.whenReady(() => isReady(`${address}/-/ready`));

  async function ask(path: string, parameters: Record<string, string>): Promise<Result[]> {
    const response = await fetch(`${address}/api/v1/${path}`, {
      method: 'POST',
      body: new URLSearchParams(parameters),
    });
    const reply: Reply = JSON.parse(await response.text());
    if (reply.data === undefined) throw new Error(`${parameters.query}: ${reply.error}`);
    return reply.data.result;
  }

  return {
    /** The series of an instant query, each with one value. Rejects if the query is invalid. */
    async query(expr: string) {
      const result = await ask('query', { query: expr });
      return result.map(({ metric = {}, value }) => ({ metric, values: value === undefined ? [] : [value] }));
    },
    /**
     * @param from seconds since the epoch; the range ends now
     * @param step seconds between two values
     */
    async queryRange(expr: string, from: number, step = 1) {
      const end = Date.now() / 1000;
      const range = { query: expr, start: String(from), end: String(end), step: String(step) };
      const result = await ask('query_range', range);
      return result.map(({ metric = {}, values = [] }) => ({ metric, values }));
    },
    stop: () => server.stop(),
  };
}

interface Result {
  readonly metric?: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

interface Reply {
  readonly error?: string;
  readonly data?: { readonly result: Result[] };
}

async function isReady(url: string) {
  try {
    return (await fetch(url)).ok;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/**
 * Reads rules from a ConfigMap periodically with Stonegate's own credential. If it cannot be read or is
 * invalid, the last valid rules stay in force, and the problem is logged once.
 * https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/config-map-v1/
 */

import { formatProblem } from '../../config/problem.ts';
import { countReload } from '../../config/reload.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { ownGet } from '../../kubernetes/upstream-request.ts';
import type { Timer } from '../../lib/clock.ts';
import { isJSONObject, readJSONObject } from '../../lib/json-object.ts';
import type { ReadinessCheck } from '../../lib/readiness.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { Live } from '../bindings/feature.ts';
import type { ParseResult } from './policy-file.ts';
import type { ConfigMapReference } from './webhook-configuration.ts';

export interface ConfigMapRulesOptions<T> extends Pick<Runtime, 'clock' | 'logger' | 'telemetry'> {
  /** Called for each read, since a reload creates a new one. */
  readonly fetcher: () => UpstreamFetcher;
  readonly reference: ConfigMapReference;
  /** Key in the ConfigMap's data. */
  readonly key: string;
  readonly read: (content: string) => ParseResult<T>;
  /** Milliseconds from the end of one read to the next. */
  readonly interval: number;
}

export interface ConfigMapRules<T> extends Live<T> {
  /** Ready from the first valid rules on. */
  readonly check: ReadinessCheck;
  /** Reads now; never throws. */
  look(): Promise<void>;
  /** Reads now and after every interval. */
  start(): void;
  stop(): void;
}

export function createConfigMapRules<T>(options: ConfigMapRulesOptions<T>): ConfigMapRules<T> {
  const { reference, key, clock, logger, telemetry } = options;
  const name = `${reference.namespace}/${reference.name}`;
  const stopped = new AbortController();
  let current: { readonly value: T } | undefined;
  /** Content of the last successful read. */
  let content: string | undefined;
  let problems: readonly string[] = ['not looked at yet'];
  let timer: Timer | undefined;

  async function look(): Promise<void> {
    try {
      const found = await contentOf(options, stopped.signal);
      if (found === content) return;
      const read = options.read(found);
      if (!read.ok) {
        refuse(read.problems.map((problem) => formatProblem({ file: key, ...problem })));
        return;
      }
      current = { value: read.value };
      content = found;
      problems = [];
      countReload(telemetry, 'ok');
      logger.info({ configMap: name, key }, 'webhook: rules read from the ConfigMap');
    } catch (error) {
      refuse([error instanceof StatusError ? error.message : String(error)], error);
    }
  }

  function refuse(found: readonly string[], error?: unknown): void {
    content = undefined;
    if (stopped.signal.aborted || found.join('\n') === problems.join('\n')) return;
    problems = found;
    countReload(telemetry, 'error');
    const fields = { configMap: name, key, problems: found, ...(error === undefined ? {} : { error }) };
    logger.error(fields, 'webhook: the ConfigMap is not used; the last good rules stay in force');
  }

  function start(): void {
    void look().then(() => {
      if (!stopped.signal.aborted) timer = clock.after(options.interval, start);
    });
  }

  return {
    get current() {
      return current?.value;
    },
    check: {
      name: `webhook ConfigMap ${name}`,
      notReadyBecause: () => (current === undefined ? problems[0] : undefined),
    },
    look,
    start,
    stop() {
      stopped.abort();
      timer?.cancel();
    },
  };
}

/** @throws StatusError, Error */
async function contentOf(
  { fetcher, reference, key }: Pick<ConfigMapRulesOptions<unknown>, 'fetcher' | 'reference' | 'key'>,
  signal: AbortSignal,
): Promise<string> {
  const { status, body } = await fetcher().fetch(
    ownGet(`/api/v1/namespaces/${reference.namespace}/configmaps/${reference.name}`),
    signal,
  );
  if (status !== 200) throw new Error(`it could not be read: the API server answered ${status}`);
  const data = readJSONObject(body)?.data;
  const content = isJSONObject(data) ? data[key] : undefined;
  if (typeof content !== 'string') throw new Error(`it has no key ${key}`);
  return content;
}

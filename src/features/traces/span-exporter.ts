/**
 * Sends spans to a collector, in batches and one post at a time. No request waits for it: spans that the
 * queue has no room for, or that the collector does not take, are lost and counted.
 */

import { Pool } from 'undici';
import { type Timer, withDeadline } from '../../lib/clock.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { SPANS } from './metrics.ts';
import { type Attributes, exportRequest, type Span } from './span.ts';

export interface Collector {
  readonly endpoint: string;
  /** PEM of the authorities for its certificate; without it those that Node trusts. */
  readonly ca?: string;
  /** Headers of each post, by name. */
  readonly headers: Readonly<Record<string, string>>;
}

interface SpanExporterOptions extends Pick<Runtime, 'clock' | 'logger' | 'telemetry'> {
  readonly collector: Collector;
  readonly resource: Attributes;
}

/** Spans; one takes about 500 bytes. */
export const QUEUE = 8_192;
export const BATCH = 512;
/** Milliseconds that a span waits for others. */
const DELAY = 5_000;
/** Milliseconds for a whole post. */
const TIMEOUT = 5_000;
/** Milliseconds for a post at the end: the process ends soon. */
const LAST_TIMEOUT = 1_000;

export class SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #url: URL;
  readonly #pool: Pool;
  #queue: Span[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #isFailing = false;
  #isClosing = false;

  constructor(options: SpanExporterOptions) {
    const { endpoint, ca } = options.collector;
    this.#options = options;
    this.#url = new URL(endpoint);
    this.#pool = new Pool(this.#url.origin, {
      connections: 1,
      connect: { timeout: TIMEOUT, ...(ca !== undefined && { ca }) },
      keepAliveTimeout: DELAY * 2,
    });
  }

  /** @param spans of one request: all of them are taken, or none */
  add(spans: readonly Span[]): void {
    const { clock, telemetry } = this.#options;
    if (spans.length === 0) return;
    if (this.#queue.length + spans.length > QUEUE) {
      telemetry.count(SPANS, { result: 'full' }, spans.length);
      return;
    }
    this.#queue.push(...spans);
    if (this.#queue.length >= BATCH) void this.flush();
    else this.#timer ??= clock.after(DELAY, () => void this.flush());
  }

  /** Resolves when everything was sent, or is lost. Spans may still be added: streams outlive a reload. */
  flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** Sends the rest, as long as the collector takes it. */
  close(): Promise<void> {
    this.#isClosing = true;
    return this.flush();
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#send(this.#queue.splice(0, BATCH));
      if (this.#isClosing && this.#isFailing) this.#lose(this.#queue.splice(0).length);
    }
  }

  #lose(spans: number): void {
    if (spans > 0) this.#options.telemetry.count(SPANS, { result: 'failed' }, spans);
  }

  async #send(spans: readonly Span[]): Promise<void> {
    const { resource, clock, logger, telemetry } = this.#options;
    const body = JSON.stringify(exportRequest(spans, resource));
    try {
      const late = () => new Error('the collector did not answer in time');
      await withDeadline(clock, this.#isClosing ? LAST_TIMEOUT : TIMEOUT, late, (signal) =>
        this.#post(body, signal),
      );
      telemetry.count(SPANS, { result: 'exported' }, spans.length);
      if (this.#isFailing) logger.info({}, 'traces: the collector takes spans again');
      this.#isFailing = false;
    } catch (error) {
      this.#lose(spans.length);
      if (!this.#isFailing)
        logger.warn({ error }, 'traces: the collector does not take spans; they are lost');
      this.#isFailing = true;
    }
  }

  async #post(body: string, signal: AbortSignal): Promise<void> {
    const { headers } = this.#options.collector;
    const { statusCode, body: answer } = await this.#pool.request({
      method: 'POST',
      path: this.#url.pathname,
      headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'stonegate' },
      body,
      signal,
    });
    await answer.dump();
    if (statusCode !== 200) throw new Error(`the collector answered ${statusCode}`);
  }
}

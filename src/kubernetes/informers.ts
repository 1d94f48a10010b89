/**
 * Informers that belong together: they start, reconnect and stop as one.
 */
import type { Timer } from '../lib/clock.ts';
import type { Runtime } from '../lib/runtime.ts';
import { Informer, type InformerOptions } from './informer.ts';
import {
  INFORMER_AGE,
  INFORMER_FAILED,
  INFORMER_FAILURES,
  INFORMER_LIST_REASONS,
  INFORMER_LISTS,
} from './informer-metrics.ts';
import type { UpstreamFetcher, UpstreamStreamer } from './upstream-ports.ts';

/** Milliseconds after which a resource whose objects did not all fit in the store is listed again. */
const COMPLETION_INTERVAL = 600_000;

export type InformerUpstream = UpstreamFetcher & UpstreamStreamer;

export interface InformersOptions extends Runtime {
  /** A label of metrics. */
  readonly name: string;
  readonly upstream: InformerUpstream;
}

export class Informers {
  readonly #options: InformersOptions;
  readonly #informers: Informer<{ readonly revision: number }>[] = [];
  #upstream: InformerUpstream;
  /** Milliseconds since the epoch. */
  #startedAt = 0;
  #running: Promise<unknown> = Promise.resolve();
  #outOfForce = () => {};
  #timer: Timer | undefined;

  constructor(options: InformersOptions) {
    this.#options = options;
    this.#upstream = options.upstream;
  }

  get all(): readonly Pick<Informer<never>, 'resource' | 'provenAt'>[] {
    return this.#informers;
  }

  /** When the resource was last known to be complete, in milliseconds since the epoch; undefined before. */
  provenAt(resource: string): number | undefined {
    return this.#informers.find((informer) => informer.resource === resource)?.provenAt;
  }

  /** Called before `start`. */
  add<T extends { readonly revision: number }>(
    options: Pick<InformerOptions<T>, 'path' | 'metadataOnly' | 'read' | 'store' | 'onUpdate'>,
  ): Informer<T> {
    const informer = new Informer({ ...this.#options, ...options, upstream: () => this.#upstream });
    this.#informers.push(informer);
    return informer;
  }

  start(): void {
    const { name: informer, clock, telemetry } = this.#options;
    this.#startedAt = clock.now();
    // Prometheus computes no increase from the first value of a series: it has to be there before.
    for (const { resource } of this.#informers) {
      for (const reason of INFORMER_LIST_REASONS)
        telemetry.count(INFORMER_LISTS, { informer, resource, reason }, 0);
      for (const failure of INFORMER_FAILURES)
        telemetry.count(INFORMER_FAILED, { informer, resource, failure }, 0);
    }
    const ageOf = (provenAt = this.#startedAt) => Math.max(0, clock.now() - provenAt) / 1_000;
    this.#outOfForce = telemetry.measure(INFORMER_AGE, () =>
      this.#informers
        .map(({ resource, provenAt }) => [{ informer, resource }, ageOf(provenAt)] as const)
        // If there are several informers of one resource, the oldest one is set last.
        .sort(([, one], [, other]) => one - other),
    );
    this.#running = Promise.all(this.#informers.map((informer) => informer.run()));
    this.#completeLater();
  }

  /** @param upstream as before, or with a renewed credential, which is used at once */
  connect(upstream: InformerUpstream): void {
    if (upstream === this.#upstream) return;
    this.#upstream = upstream;
    for (const informer of this.#informers) informer.reconnect();
  }

  /** Resolves when all requests have ended. */
  async stop(): Promise<void> {
    this.#outOfForce();
    this.#timer?.cancel();
    for (const informer of this.#informers) informer.stop();
    await this.#running;
  }

  #completeLater(): void {
    this.#timer = this.#options.clock.after(COMPLETION_INTERVAL, () => {
      for (const informer of this.#informers) if (informer.isIncomplete) informer.listAnew('off');
      this.#completeLater();
    });
  }
}

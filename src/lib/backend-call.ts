/**
 * A call to a backend, from its begin on: counted, and shown in the trace of the request that caused it.
 */

import { currentTrace, type TracedCall } from './request-trace.ts';
import type { Runtime } from './runtime.ts';
import type { Backend, BackendResult } from './telemetry.ts';

interface BackendCallOptions extends Pick<Runtime, 'clock' | 'telemetry'> {}

export class BackendCall {
  readonly #backend: Backend;
  readonly #options: BackendCallOptions;
  readonly #startedAt: number;
  readonly #traced: TracedCall | undefined;

  constructor(backend: Backend, options: BackendCallOptions) {
    this.#backend = backend;
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#traced = currentTrace()?.call(backend);
  }

  end(result: BackendResult): void {
    const { clock, telemetry } = this.#options;
    telemetry.backendCall(this.#backend, result, (clock.now() - this.#startedAt) / 1_000);
    this.#traced?.end(result);
  }
}

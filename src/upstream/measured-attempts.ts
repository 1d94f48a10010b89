/**
 * Measures the attempts of one call to the API server until the response begins: for the metrics and for the
 * trace of the request that caused the call. An attempt may begin in a callback that belongs to another one.
 */
import type { HeaderList } from '../lib/header-list.ts';
import { currentTrace, type TracedCall } from '../lib/request-trace.ts';
import type { BackendResult } from '../lib/telemetry.ts';
import type { CallContext } from './call-request.ts';

export class MeasuredAttempts {
  readonly #context: Pick<CallContext, 'clock' | 'telemetry'>;
  readonly #trace = currentTrace();
  #traced: TracedCall | undefined;
  #startedAt = 0;

  constructor(context: Pick<CallContext, 'clock' | 'telemetry'>) {
    this.#context = context;
  }

  wait(): void {
    this.#startedAt = this.#context.clock.now();
  }

  /** @returns the headers with the context of the trace, if there is one */
  begin(headers: HeaderList): HeaderList {
    this.#startedAt = this.#context.clock.now();
    this.#traced = this.#trace?.call('upstream');
    return this.#traced?.propagate(headers) ?? headers;
  }

  end(result: BackendResult): void {
    const { clock, telemetry } = this.#context;
    telemetry.backendCall('upstream', result, (clock.now() - this.#startedAt) / 1_000);
    this.#traced?.end(result);
  }
}

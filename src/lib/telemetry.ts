/**
 * The interface of the metrics, which `observability/metrics.ts` implements. What is counted on the path of
 * every request has a method of its own; all else is a definition of its owner.
 */
import type { CounterDefinition, GaugeDefinition, Labels, LabelValues, Readings } from './metric.ts';

export type Backend = 'keystone' | 'issuer' | 'redis' | 'upstream';
/** `refused`: Stonegate's own credential was refused. */
export type BackendResult = 'ok' | 'error' | 'timeout' | 'refused';
export type CacheTier = 'memory' | 'redis' | 'negative' | 'discovery';

export interface Telemetry {
  cacheLookup(tier: CacheTier, result: 'hit' | 'miss' | 'stale' | 'error'): void;
  /** One call to a backend. */
  backendCall(backend: Backend, result: BackendResult, seconds: number): void;
  /** @param amount 1 without it */
  count<L extends Labels>(counter: CounterDefinition<L>, labels: LabelValues<L>, amount?: number): void;
  set<L extends Labels>(gauge: GaugeDefinition<L>, labels: LabelValues<L>, value: number): void;
  /**
   * The gauge is read at each scrape. If several measure the same series, the last one to begin decides.
   *
   * @returns ends it
   */
  measure<L extends Labels>(gauge: GaugeDefinition<L>, read: () => Readings<L>): () => void;
}

export const noTelemetry: Telemetry = {
  cacheLookup() {},
  backendCall() {},
  count() {},
  set() {},
  measure: () => () => {},
};

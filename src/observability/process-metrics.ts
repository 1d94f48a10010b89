/**
 * Metrics of the process as operators see it: its build, open connections of clients, the ends of its
 * certificates, and reloads.
 */
import { Gauge, type Registry } from 'prom-client';
import type { Telemetry } from '../lib/telemetry.ts';
import { createCounter } from './counter.ts';

export function createProcessMetrics(
  registers: Registry[],
  version: string,
): Pick<Telemetry, 'listening' | 'certificatesInForce' | 'reload'> {
  new Gauge({
    name: 'stonegate_build_info',
    help: 'Always 1, with the versions of Stonegate and of Node.',
    labelNames: ['version', 'node_version'],
    aggregator: 'max',
    registers,
  }).set({ version, node_version: process.versions.node }, 1);
  const reloads = createCounter(registers, {
    name: 'stonegate_reloads_total',
    help: 'Reloads of configuration, certificates and keys, by result.',
    labels: { result: ['ok', 'error'] },
  });
  const inUse = new Gauge({
    name: 'stonegate_last_reload_successful',
    help: 'Whether the files on disk are in use: 1, or 0 if the last reload failed.',
    aggregator: 'min',
    registers,
  });
  inUse.set(1);
  const ends = new Gauge({
    name: 'stonegate_certificate_not_after_timestamp_seconds',
    help: 'When the first certificate of a certFile expires, by its field of the configuration.',
    labelNames: ['field'],
    aggregator: 'min',
    registers,
  });
  return {
    reload(result) {
      reloads.inc({ result });
      inUse.set(result === 'ok' ? 1 : 0);
    },
    listening: createConnectionGauge(registers),
    certificatesInForce(notAfter) {
      ends.reset();
      for (const [field, at] of notAfter) ends.set({ field }, at / 1000);
    },
  };
}

function createConnectionGauge(registers: Registry[]): Telemetry['listening'] {
  const listeners = new Map<string, () => number>();
  new Gauge({
    name: 'stonegate_connections_open',
    help: 'Open connections of clients, by listener.',
    labelNames: ['listener'],
    registers,
    collect() {
      for (const [listener, connections] of listeners) this.set({ listener }, connections());
    },
  });
  return (listener, connections) => void listeners.set(listener, connections);
}

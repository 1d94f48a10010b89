/**
 * An API server with one resource and an informer, both controlled by the test and its clock: it stores
 * objects, responds to lists, and holds watches open until the test ends them.
 */

import { storeOf } from '../../src/features/rbac-index/rbac-informers.ts';
import { Informer } from '../../src/kubernetes/informer.ts';
import type { IndexedResource } from '../../src/kubernetes/rbac-v1.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../../src/kubernetes/upstream-ports.ts';
import type { LogFields, Logger } from '../../src/lib/logger.ts';
import { RBACIndex } from '../../src/rbac/rbac-index.ts';
import { createRBACReader } from '../../src/rbac/read-rbac-object.ts';
import { eventually } from './eventually.ts';
import { createFakeClock } from './fake-clock.ts';
import { listOf, scriptedResource } from './scripted-resource.ts';

export { DOWN, type ListResponse as Response } from './scripted-resource.ts';

export type ScriptedAPI = ReturnType<typeof scriptedAPI>;

export function scriptedAPI() {
  const resource: IndexedResource = 'namespaces';
  const clock = createFakeClock(1_000_000);
  const index = new RBACIndex();
  const scripted = scriptedResource();
  const { watches, lists } = scripted;
  const log: { level: string; fields: LogFields; message: string }[] = [];
  const counted: string[] = [];
  const at = (level: string) => (fields: LogFields, message: string) => {
    log.push({ level, fields, message });
  };
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };

  let told: number | undefined;
  const probed = () => {
    const revision = String(told ?? index.revisionOf(resource) ?? 1);
    return { status: 200, headers: [], body: Buffer.from(listOf({ items: [], revision })) };
  };
  const upstream: UpstreamFetcher & UpstreamStreamer = {
    async fetch(request, signal) {
      signal.throwIfAborted();
      return request.target.endsWith('?limit=1') ? probed() : scripted.upstream.fetch(request, signal);
    },
    stream: (request, signal) => scripted.upstream.stream(request, signal),
  };
  const reader = createRBACReader({ inTenants: false });
  const informer = new Informer({
    name: 'rbac-index',
    path: '/api/v1/namespaces',
    read: (object) => reader.read(resource, object),
    store: storeOf(index, resource),
    upstream: () => upstream,
    clock,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger,
    telemetry: {
      count: (_counter, labels) => void counted.push(Object.values(labels).slice(2).join()),
    },
  });
  let running: Promise<void> = Promise.resolve();

  const { listWith, refuseWatches, watch } = scripted;
  return {
    ...{ clock, index, watches, lists, log, counted, listWith, refuseWatches, watch },
    /** Milliseconds since the namespaces were last known to be complete. */
    get age() {
      return clock.now() - (informer.provenAt ?? 0);
    },
    /** Sets the revision that the next probes return; by default that of the index. */
    tellRevision(revision: number) {
      told = revision;
    },
    /** Runs the next timer that is due within this time. */
    async elapse(milliseconds: number) {
      await eventually(() => clock.untilNext <= milliseconds);
      clock.advance(milliseconds);
    },
    start() {
      running = informer.run();
    },
    async stop() {
      informer.stop();
      await running;
    },
  };
}

/** A namespace as it occurs in a list. */
export function ns(name: string, revision: number, more: object = {}): object {
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion: String(revision), ...more },
    status: { phase: 'Active' },
  };
}

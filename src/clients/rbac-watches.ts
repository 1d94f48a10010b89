/**
 * The five lists and watches that feed the RBAC index. In Arktos they span all tenants, with the right to
 * list and watch each resource in the system tenant.
 */

import type { FollowedIndex } from '../access/ports.ts';
import { INDEXED_RESOURCES, type IndexedResource } from '../api/rbac-v1.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../pipeline/ports.ts';
import { ListWatch } from './list-watch.ts';
import { createRBACReader } from './read-rbac-object.ts';

export interface RBACWatchesOptions {
  readonly tracked: FollowedIndex;
  /** Whether the API server has tenants (Arktos). */
  readonly hasTenants: boolean;
  /** Called for each request. */
  readonly upstream: () => UpstreamFetcher & UpstreamStreamer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface RBACWatches {
  start(): void;
  /** Ends the watches that are open and resumes them at once, with the present upstream. */
  reconnect(): void;
  /** Lists all resources anew: what was too much for the index may fit now. */
  listAnew(): void;
  /** Resolves when all requests have ended. */
  stop(): Promise<void>;
}

export function createRBACWatches({ tracked, hasTenants, ...options }: RBACWatchesOptions): RBACWatches {
  const reader = createRBACReader({ hasTenants });
  const watches = INDEXED_RESOURCES.map(
    (resource) =>
      new ListWatch({
        ...options,
        resource,
        path: pathOf(resource, hasTenants),
        reader,
        index: tracked.index,
        onProof: () => tracked.proved(resource),
      }),
  );
  const { index } = tracked;
  const unsubscribe = index.subscribe({
    restored(revision) {
      for (const watch of watches) watch.listAnewIfAbove(revision);
    },
  });
  let running: Promise<unknown> = Promise.resolve();
  return {
    start() {
      running = Promise.all(watches.map((watch) => watch.run()));
    },
    reconnect() {
      for (const watch of watches) watch.reconnect();
    },
    listAnew() {
      for (const watch of watches) watch.listAnew('off');
    },
    async stop() {
      unsubscribe();
      for (const watch of watches) watch.stop();
      await running;
    },
  };
}

function pathOf(resource: IndexedResource, hasTenants: boolean): string {
  const prefix = resource === 'namespaces' ? '/api/v1' : '/apis/rbac.authorization.k8s.io/v1';
  return `${prefix}${hasTenants ? '/tenants/all' : ''}/${resource}`;
}

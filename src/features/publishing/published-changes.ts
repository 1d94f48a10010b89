/**
 * Tells of changes of the objects on which published copies depend. A change that is missed here is found by
 * the next periodic run.
 */
import { createHash } from 'node:crypto';
import { ObjectStore, storableObjects } from '../../kubernetes/informer-store.ts';
import { type InformerRuntime, Informers, type InformerUpstream } from '../../kubernetes/informers.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import type { Timer } from '../../lib/clock.ts';
import type { WatchedObjects } from './watched.ts';

export interface PublishedChangesOptions extends InformerRuntime {
  readonly watched: readonly WatchedObjects[];
  readonly upstream: InformerUpstream;
  /** Called for each change; not for what is there at the start. */
  readonly onChange: () => void;
}

export interface PublishedChanges {
  start(): void;
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
}

/** The bounds of one tenant: with more objects of a kind, only the periodic run sees their changes. */
const BOUNDS = { objects: 50_000, bytes: 512 * 1024 * 1024 };
/** Milliseconds in which changes are gathered: tenants' users may cause many events. */
const GATHER = 100;
const MODULUS = 2 ** 48;

export function createPublishedChanges(options: PublishedChangesOptions): PublishedChanges {
  const { watched, onChange, clock, logger } = options;
  const informers = new Informers({ ...options, name: 'publishing' });
  const timers = new Map<string, Timer>();
  for (const { kind, place, fingerprint } of watched) {
    const path = collectionPath(kind, place);
    const store = new ObjectStore<number>({
      bounds: BOUNDS,
      onLeftOut: (tenant) =>
        logger.warn({ path, tenant }, 'publishing: a tenant has too many objects to see their changes'),
    });
    let known: number | undefined;
    const compare = () => {
      timers.delete(path);
      const now = sum(store.values());
      if (known !== undefined && known !== now) onChange();
      known = now;
    };
    informers.add({
      path,
      read: storableObjects((value) => digest(fingerprint(value))),
      store,
      onUpdate() {
        if (known === undefined) compare();
        else if (!timers.has(path)) timers.set(path, clock.after(GATHER, compare));
      },
    });
  }
  return {
    start: () => informers.start(),
    async stop() {
      await informers.stop();
      for (const timer of timers.values()) timer.cancel();
    },
  };
}

/**
 * The sum of digests of all objects, modulo 2^48: no order counts, and each object is hashed once, when it is
 * read.
 */
function sum(digests: readonly number[]): number {
  return digests.reduce((total, one) => (total + one) % MODULUS, digests.length);
}

function digest(fingerprint: string | undefined): number | undefined {
  if (fingerprint === undefined) return undefined;
  return createHash('sha256').update(fingerprint).digest().readUIntBE(0, 6);
}

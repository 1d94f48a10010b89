/**
 * Tells of changes of the objects on which published copies depend. A change that is missed here is found by
 * the next periodic run.
 */
import { createHash } from 'node:crypto';
import { resourceName } from '../api/published-objects.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../pipeline/ports.ts';
import type { WatchedObjects } from '../publishing/watched.ts';
import { collectionPath } from './object-format.ts';
import { Reflector } from './reflector.ts';

export interface PublishedChangesOptions {
  readonly watched: readonly WatchedObjects[];
  readonly upstream: UpstreamFetcher & UpstreamStreamer;
  /** Called for each change; not for what is there at the start. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface PublishedChanges {
  start(): void;
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
}

/** Of one tenant: with more objects of a kind, only the periodic run sees their changes. */
const BOUNDS = { objects: 50_000, bytes: 512 * 1024 * 1024 };
/** Milliseconds in which changes are gathered: tenants' users may cause many events. */
const GATHER = 100;
const MODULUS = 2 ** 48;

export function createPublishedChanges(options: PublishedChangesOptions): PublishedChanges {
  const { watched, upstream, onChange, ...runtime } = options;
  const { clock } = runtime;
  const stops: (() => void)[] = [];
  const reflectors = watched.map(({ kind, place, fingerprint }) => {
    let known: number | undefined;
    let timer: Timer | undefined;
    const compare = () => {
      timer = undefined;
      const now = sum(reflector.objects);
      if (known !== undefined && known !== now) onChange();
      known = now;
    };
    const reflector: Reflector<number> = new Reflector<number>({
      ...runtime,
      apiGroup: kind.group,
      resource: resourceName(kind),
      path: collectionPath(kind, place),
      follower: 'publishing',
      read(value) {
        const text = fingerprint(value);
        return text === undefined ? undefined : digest(text);
      },
      bounds: BOUNDS,
      upstream: () => upstream,
      onFailure: () => {},
      onUpdate() {
        if (known === undefined) compare();
        else timer ??= clock.after(GATHER, compare);
      },
    });
    stops.push(() => {
      reflector.stop();
      timer?.cancel();
    });
    return reflector;
  });
  let running: readonly Promise<void>[] = [];
  return {
    start() {
      running = reflectors.map((reflector) => reflector.run());
    },
    async stop() {
      for (const stop of stops) stop();
      await Promise.all(running);
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

function digest(fingerprint: string): number {
  return createHash('sha256').update(fingerprint).digest().readUIntBE(0, 6);
}

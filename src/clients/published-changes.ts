/**
 * Tells of changes of the objects on which published copies depend. A change that is missed here is found by
 * the next periodic run.
 */
import { createHash } from 'node:crypto';
import { resourceName } from '../api/published-objects.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../pipeline/ports.ts';
import type { WatchedObjects } from '../publishing/watched.ts';
import { publishedPath } from './published-objects.ts';
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

export function createPublishedChanges(options: PublishedChangesOptions): PublishedChanges {
  const { watched, upstream, onChange, ...runtime } = options;
  const reflectors = watched.map(({ kind, place, fingerprint }) => {
    let known: string | undefined;
    const reflector: Reflector<string> = new Reflector<string>({
      ...runtime,
      apiGroup: kind.group,
      resource: resourceName(kind),
      path: publishedPath(kind, place),
      follower: 'publishing',
      read: fingerprint,
      bounds: BOUNDS,
      upstream: () => upstream,
      onFailure: () => {},
      onUpdate() {
        const now = digest(reflector.objects);
        if (known !== undefined && known !== now) onChange();
        known = now;
      },
    });
    return reflector;
  });
  let running: readonly Promise<void>[] = [];
  return {
    start() {
      running = reflectors.map((reflector) => reflector.run());
    },
    async stop() {
      for (const reflector of reflectors) reflector.stop();
      await Promise.all(running);
    },
  };
}

function digest(fingerprints: readonly string[]): string {
  const hash = createHash('sha256');
  for (const one of [...fingerprints].sort()) hash.update(`${one.length}:`).update(one);
  return hash.digest('base64');
}

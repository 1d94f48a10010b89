/**
 * Notices changed files by reading them and comparing digests, since a mounted secret changes by a swap of
 * the symlink `..data`, which causes no event for the file. See docs/decisions/0002-reload-by-reading.md.
 * https://kubernetes.io/docs/concepts/configuration/secret/#mounted-secrets-are-updated-automatically
 */
import type { Clock, Timer } from '../lib/clock.ts';
import { fingerprint, type Watched } from './load.ts';

/**
 * Milliseconds between two checks. A mounted secret takes a minute to arrive, and an idle process should
 * sleep.
 */
const WATCH_INTERVAL = 10_000;

export interface WatchOptions {
  readonly clock: Clock;
  readonly readFile: (name: string) => Promise<Buffer>;
  /** The next check is scheduled after it has resolved. */
  readonly onChange: () => Promise<void>;
  /** Called with what `onChange` throws. Checks go on. */
  readonly onError: (error: unknown) => void;
}

export interface FileWatch {
  /** The files to watch from now on, with their fingerprints when they were loaded. */
  expect(watched: Watched): void;
  close(): void;
}

export function watchFiles(options: WatchOptions): FileWatch {
  let expected: Watched = new Map();
  let closed = false;
  let timer: Timer | undefined;

  async function check(): Promise<void> {
    const before = expected;
    const changed = await Promise.all(
      [...before].map(async ([name, known]) => (await fingerprintOf(name)) !== known),
    );
    if (!closed && before === expected && changed.includes(true)) await options.onChange();
  }

  async function fingerprintOf(name: string): Promise<string> {
    const content = await options.readFile(name).catch((error: unknown) => {
      if (error instanceof Error) return undefined;
      throw error;
    });
    return fingerprint(content);
  }

  function schedule(): void {
    if (closed) return;
    timer = options.clock.after(WATCH_INTERVAL, () => {
      check().catch(options.onError).finally(schedule);
    });
  }

  schedule();
  return {
    expect(watched) {
      expected = watched;
    },
    close() {
      closed = true;
      timer?.cancel();
    },
  };
}

/**
 * Notices that files changed, by reading them. Mounted secrets change by a swap of the symlink `..data`,
 * which inotify on the file never sees; content is what counts, and a handful of small files every few
 * seconds costs nothing. Time stamps are not asked: they stay equal where a file is replaced within their
 * grain.
 * https://kubernetes.io/docs/concepts/configuration/secret/#mounted-secrets-are-updated-automatically
 */
import type { Clock, Timer } from '../lib/clock.ts';
import { fingerprint, type Watched } from './load.ts';

/** Milliseconds between looks. A mounted secret takes a minute to arrive; an idle process wants to sleep. */
const WATCH_INTERVAL = 10_000;

export interface WatchOptions {
  readonly clock: Clock;
  readonly readFile: (name: string) => Promise<Buffer>;
  /** Awaited: there is no look while it runs. */
  readonly onChange: () => Promise<void>;
  /** Told what `onChange` threw. The watch goes on. */
  readonly onError: (error: unknown) => void;
}

export interface FileWatch {
  /** What to watch from now on, and how it looked when it was last read. */
  expect(watched: Watched): void;
  close(): void;
}

export function watchFiles(options: WatchOptions): FileWatch {
  let expected: Watched = new Map();
  let closed = false;
  let timer: Timer | undefined;

  async function look(): Promise<void> {
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
      look().catch(options.onError).finally(schedule);
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

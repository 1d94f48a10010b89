/**
 * A load generator that runs all the time and is mostly stopped: SIGSTOP and SIGCONT switch between
 * contenders within milliseconds. Of its own figures only the number of refusals is used.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Running } from './processes.ts';

export interface LoadOptions {
  readonly folder: string;
  readonly port: number;
  readonly path: string;
  readonly connections: number;
  /** In turn, one a request. */
  readonly tokens: readonly string[];
}

/** The request, for each contender. */
export type Shape = Omit<LoadOptions, 'port' | 'folder'>;

export interface Generator {
  /** @throws if it has ended by itself */
  resume(): void;
  suspend(): void;
  /** Ends it. @throws if a request was refused */
  finish(): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** Starts a generator, which loads at once. */
export type Load = (options: LoadOptions) => Promise<Generator>;

/** The load for some time, as a warm-up. @throws where something was refused */
export async function loadFor(seconds: number, load: Load, options: LoadOptions): Promise<void> {
  const generator = await load(options);
  try {
    await pause(seconds * 1_000);
    await generator.finish();
  } finally {
    generator.kill();
  }
}

/** @param finish ends the process and checks its output */
export function generatorOf(running: Running, finish: () => Promise<void>): Generator {
  return {
    resume() {
      if (running.gone()) throw new Error(`the load has ended by itself:\n${running.output()}`);
      running.signal('SIGCONT');
    },
    suspend: () => running.signal('SIGSTOP'),
    finish,
    kill: () => running.signal('SIGKILL'),
  };
}

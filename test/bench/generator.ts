/**
 * A load generator that runs all the time and is mostly stopped: SIGSTOP and SIGCONT hand the load from
 * contender to contender within milliseconds. Its own figures then mean nothing but whether anything was
 * refused.
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
  /** @throws where it has ended by itself */
  resume(): void;
  suspend(): void;
  /** Ends it. @throws where something was refused */
  finish(): Promise<void>;
  /** Ends it whatever it is at. */
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

/** @param finish ends the running process and looks at what it says */
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

/** Waiting for a process to be ready, or to have said something. */
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Running } from './processes.ts';

const PATIENCE_MS = 60_000;

/** Waits until `look` finds something. @throws where the process is gone, or nothing was found in time */
export async function until<T>(
  running: Running,
  look: () => T | undefined | Promise<T | undefined>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (running.gone()) throw new Error(`it ended:\n${running.output()}`);
    if (Date.now() > deadline) throw new Error(`not ready in time:\n${running.output()}`);
    await pause(10);
  }
}

/** For programs that do not say that they are ready. */
export async function untilListening(running: Running, port: number): Promise<void> {
  await until(running, async () => {
    const socket = connect(port, '127.0.0.1');
    const open = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    return open || undefined;
  });
}

/**
 * Randomness as a value, so that tests can repeat a run.
 */
import { randomBytes, randomUUID } from 'node:crypto';

export interface Random {
  bytes(size: number): Buffer;
  uuid(): string;
  /** Uniform in [0, 1). For jitter only: not for secrets. */
  fraction(): number;
}

export const systemRandom: Random = {
  bytes: (size) => randomBytes(size),
  uuid: () => randomUUID(),
  fraction: () => Math.random(),
};

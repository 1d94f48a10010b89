/**
 * An epoch as it stands in Redis and in messages: when the tag was dropped, how long that matters, and a proof by
 * the sealing key for exactly this tag, so that it can neither be made up nor moved.
 */
import type { SealingKey } from './sealing-key.ts';

export interface Epoch {
  /** When the tag was dropped, in milliseconds since the epoch. */
  readonly value: number;
  /** When every entry from before the drop is dead. */
  readonly until: number;
}

export const MAX_RECORD_BYTES = 160;
const RECORD = /^(\d{1,15})\.(\d{1,15})\.([\w-]{43})$/;

/** @param id the tag's name under `key` */
export function formatEpoch(key: SealingKey, id: string, { value, until }: Epoch): string {
  return `${value}.${until}.${key.mac('epoch', [id, String(value), String(until)])}`;
}

/** @returns undefined for what none of the keys vouches for */
export function parseEpoch(keys: readonly SealingKey[], id: string, record: string): Epoch | undefined {
  const match = RECORD.exec(record);
  if (match === null) return undefined;
  const [, value = '', until = '', mac = ''] = match;
  if (!keys.some((key) => key.verify(mac, 'epoch', [id, value, until]))) return undefined;
  return { value: Number(value), until: Number(until) };
}

/** In what the cost of a request may grow: each kind's lines from the least on. */
import { keystoneToken } from './configuration.ts';

export interface Line {
  readonly what: string;
  /** In turn, one a request. */
  readonly tokens: readonly string[];
  readonly redis?: boolean;
}

/** Measured in turn; a ratio is to the first. */
export type Kind = readonly Line[];

const manyUsers = (count: number) => many(count, (n) => keystoneToken({ user: `user-${n}` }));

export const KINDS: readonly Kind[] = [
  [1, 100, 1_000, 10_000].map((count) => ({ what: `users: ${count}`, tokens: manyUsers(count) })),
  [1, 100, 10_000].map((count) => ({
    what: `tenants: ${count}`,
    tokens: many(count, (n) => keystoneToken({ user: `user-${n}`, tenant: `tenant-${n}` })),
  })),
  [1, 20, 200].map((groups) => ({ what: `groups: ${groups}`, tokens: [keystoneToken({ groups })] })),
  [300, 4_000, 16_000].map((length) => ({
    what: `token: ${length / 1_000} kB`,
    tokens: [keystoneToken({ length })],
  })),
  [1, 1_000].map((count) => ({ what: `users, Redis: ${count}`, tokens: manyUsers(count), redis: true })),
];

export const WATCHES = [100, 1_000, 5_000, 10_000];

function many(count: number, make: (n: number) => string): string[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

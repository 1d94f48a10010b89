/**
 * The rate accounts of Redis in memory and with the clock of the test: what `token-script.ts` does in Lua.
 * `test/integration/rates.test.ts` compares the two.
 */
import type { Clock } from '../../../src/lib/clock.ts';

export function createMemoryAccounts(clock: Pick<Clock, 'now'>) {
  const accounts = {
    /** Key → TAT in microseconds. */
    keys: new Map<string, number>(),
    /** While `away`, no command arrives; while `late`, it is carried out, but the response comes too late. */
    state: 'back' as 'away' | 'late' | 'back',
    commands: 0,
    async run(_script: unknown, keys: readonly string[], values: readonly number[]) {
      if (accounts.state === 'away') return undefined;
      accounts.commands += 1;
      const reply = runTokenScript(accounts.keys, clock.now() * 1_000, keys, values);
      return accounts.state === 'late' ? undefined : reply;
    },
  };
  return accounts;
}

export function runTokenScript(
  stored: Map<string, number>,
  now: number,
  keys: readonly string[],
  [life = 0, owed = 0, owedFor = 0, held = 0, wanted = 0, ...rest]: readonly number[],
) {
  const accounts = keys.map((key, at) => {
    const [interval = 0, burst = 0] = rest.slice(2 * at);
    const [full, last] = [burst * interval, stored.get(key) ?? 0];
    const known = last > now + 2 * full ? now + full : last;
    const charged = Math.max(known, now - owedFor) + owed * interval;
    return { key, interval, burst, tat: Math.min(Math.max(charged, now), now + 2 * full) };
  });
  const rooms = accounts.map(({ interval, burst, tat }) => burst - Math.max(tat - now - 2, 0) / interval);
  const available = Math.floor(Math.min(...rooms));
  let left = available;
  let refused = false;
  for (const cost of rest.slice(2 * keys.length)) {
    if (cost <= left) left -= cost;
    else refused = true;
  }
  const longest = accounts.map(({ interval, burst }) => Math.floor(burst - held - life / interval));
  const extra = Math.max(refused ? -1 : Math.min(wanted, Math.floor(left / 2), ...longest), -1);
  const debts = accounts.map(({ key, interval, tat }) => {
    const paid = tat + (available - left) * interval;
    const lasting = extra >= 0 && held + extra > 0;
    const next = lasting ? Math.max(paid + extra * interval, now + life + (held + extra) * interval) : paid;
    if (next > now) stored.set(key, Math.ceil(next));
    else stored.delete(key);
    return Math.trunc(next - now);
  });
  return [available, extra, 0, ...debts];
}

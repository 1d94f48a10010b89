/**
 * Takes tokens from accounts in Redis by the Generic Cell Rate Algorithm: a key holds the theoretical arrival
 * time (TAT) in microseconds of Redis' clock, from which on the account is full; each token moves it by the
 * interval between two tokens. All processes together spend at most burst + rate × time, in any period.
 * ITU-T I.371; https://redis.io/docs/latest/develop/programmability/eval-intro/
 */
import { hash } from 'node:crypto';
import type { SealingKey } from '../../cache/sealing-key.ts';
import type { SharedStore } from '../../cache/shared-store.ts';
import type { Rate } from '../../limits/rate-limiter.ts';

/**
 * Milliseconds for which a process may spend tokens that it took in advance. Redis accounts for them as if
 * they were spent at the end of it, so that no period has more of them than it should.
 */
export const TOKEN_LIFE = 400;

/**
 * The costs that the accounts can pay are paid, in their order. Then up to `wanted` tokens are given in
 * advance, but at most half of what is left. What was spent without Redis is charged as at the time when the
 * first of it was spent, and takes at most one burst more than an empty account has. A TAT beyond that is
 * from a former limit, or Redis' clock was set back: the account counts as empty. An unreadable key begins
 * full. A TAT may be rounded up by 2 µs.
 */
const TEXT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local life, owed, owedFor = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local held, wanted = tonumber(ARGV[4]), tonumber(ARGV[5])
local interval, burst, tat = {}, {}, {}
local garbage, available = 0, math.huge
for i, key in ipairs(KEYS) do
  interval[i], burst[i] = tonumber(ARGV[4 + 2 * i]), tonumber(ARGV[5 + 2 * i])
  local stored = redis.pcall('GET', key)
  local number = type(stored) == 'string' and stored:match('^%d+$') and tonumber(stored)
  if stored and not number then garbage = garbage + 1 end
  local full = burst[i] * interval[i]
  if number and number > now + 2 * full then number = now + full end
  local charged = math.max(number or 0, now - owedFor) + owed * interval[i]
  tat[i] = math.min(math.max(charged, now), now + 2 * full)
  available = math.min(available, math.floor(burst[i] - math.max(tat[i] - now - 2, 0) / interval[i]))
end
local paid, refused = 0, false
for a = 6 + 2 * #KEYS, #ARGV do
  local cost = tonumber(ARGV[a])
  if paid + cost <= available then paid = paid + cost else refused = true end
end
local extra = refused and -1 or math.min(wanted, math.floor((available - paid) / 2))
for i = 1, #KEYS do
  extra = math.min(extra, math.floor(burst[i] - held - life / interval[i]))
end
extra = math.max(extra, -1)
local reply = { available, extra, garbage }
for i, key in ipairs(KEYS) do
  tat[i] = tat[i] + paid * interval[i]
  if extra >= 0 and held + extra > 0 then
    tat[i] = math.max(tat[i] + extra * interval[i], now + life + (held + extra) * interval[i])
  end
  reply[3 + i] = tat[i] - now
  if tat[i] > now then
    redis.call('SET', key, string.format('%.0f', math.ceil(tat[i])), 'PX', math.ceil((tat[i] - now) / 1000))
  else
    redis.call('DEL', key)
  end
end
return reply
`;

const TOKEN_SCRIPT = { text: TEXT, sha1: hash('sha1', TEXT) };

/**
 * The names of the accounts of a tenant and of a user. Redis Cluster places a key by what is between braces.
 */
export function accountKeys(prefix: string, key: SealingKey, tenant: string, user: string) {
  const ofTenant = `${prefix}rate:{${key.mac('rate', [tenant])}}`;
  return { tenant: ofTenant, user: `${ofTenant}:${key.mac('rate', [tenant, user])}` };
}

export interface TokenRequest {
  /** What the waiting requests cost, in their order. */
  readonly costs: readonly number[];
  /** Tokens to take in advance. */
  readonly wanted: number;
  /** Tokens that the process has taken in advance and not spent: it may spend them for another life. */
  readonly held: number;
  /** Tokens that the process has spent without Redis. */
  readonly owed: number;
  /** Milliseconds since it spent the first of these. */
  readonly owedFor: number;
}

export interface TokenGrant {
  /** What there was for `costs`: each is paid in its order, if what is left suffices. */
  readonly available: number;
  /** Tokens taken in advance; undefined if there are none, and those that are held live no longer. */
  readonly extra: number | undefined;
  /** Tokens that are missing in each account until it is full. */
  readonly debts: readonly number[];
  /** The number of keys that were unreadable and were replaced. */
  readonly garbage: number;
}

/**
 * @param keys one for each rate, all in one hash slot
 * @returns undefined if Redis does not respond, or refuses
 */
export async function takeTokens(
  store: Pick<SharedStore, 'run'>,
  keys: readonly string[],
  rates: readonly Rate[],
  { costs, wanted, held, owed, owedFor }: TokenRequest,
): Promise<TokenGrant | undefined> {
  const accounts = rates.flatMap(({ perSecond, burst }) => [1_000_000 / perSecond, burst]);
  const values = [TOKEN_LIFE * 1_000, owed, owedFor * 1_000, held, wanted, ...accounts, ...costs];
  const reply = await store.run(TOKEN_SCRIPT, keys, values);
  if (!Array.isArray(reply) || !reply.every((part) => typeof part === 'number')) return undefined;
  const [available = 0, extra = -1, garbage = 0, ...debts] = reply;
  return {
    available,
    extra: extra < 0 ? undefined : extra,
    garbage,
    debts: rates.map(({ perSecond }, at) => ((debts[at] ?? 0) * perSecond) / 1_000_000),
  };
}

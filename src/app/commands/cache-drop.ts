/**
 * `stonegate cache drop`: invalidates the cached identities of a user or a tenant in all replicas, so that a
 * revoked right ends at once and not when the entries expire.
 */
import { type DropTarget, drop } from '../../cache/drops.ts';
import { createCommand, UsageError, VALUE } from '../../cli/command.ts';
import { createShared, OPERATOR_TIMEOUT } from '../cache.ts';
import { loadedStonegate } from '../configuration.ts';
import { withComponents } from './with-components.ts';

const USAGE = `Usage: stonegate cache drop (--user USER | --tenant TENANT) --config FILE

Drops the cached identities of a user or a tenant, and ends their watches,
followed logs and connections into pods. All replicas that share the Redis of
the configuration follow.

  --user USER       a user, by the whole name that kubectl auth whoami shows
                    (acme:alice), or by Keystone's id
  --tenant TENANT   a tenant, by name
  --config FILE     the configuration of the replicas
  --help            this text

Exit codes: 0 dropped, 1 not dropped, 2 wrong usage.
`;

const OPTIONS = {
  config: VALUE,
  user: VALUE,
  tenant: VALUE,
} as const;

const COMMAND = { usage: USAGE, options: OPTIONS, words: ['drop'] } as const;

export const cacheDrop = createCommand(COMMAND, async ({ values, words, io }) => {
  const { config, user, tenant } = values;
  if (words.join(' ') !== 'drop') throw new UsageError('the command is: stonegate cache drop');
  const target = targetOf(user, tenant);
  const loaded = await loadedStonegate(config);
  await withComponents(loaded, async (build) => {
    const { cache, store } = createShared(build, OPERATOR_TIMEOUT);
    if (store === undefined)
      throw new Error(
        'the configuration has no cache.redis: each process keeps its identities to itself, and there is nothing shared to drop. Send SIGHUP to the processes instead: it empties what they keep',
      );
    if (!(await store.whenReady(OPERATOR_TIMEOUT)))
      throw new Error(`Redis does not answer: ${store.problem() ?? 'no connection'}`);
    await drop(cache, target);
  });
  const what = 'user' in target ? `the user ${target.user}` : `the tenant ${target.tenant}`;
  io.stdout(`Whatever was cached of ${what} until now is no longer used, in any replica.\n`);
});

function targetOf(user: string | undefined, tenant: string | undefined): DropTarget {
  if (user !== undefined && tenant !== undefined)
    throw new UsageError('--user and --tenant exclude each other');
  if (user !== undefined && user !== '') return { user };
  if (tenant !== undefined && tenant !== '') return { tenant };
  throw new UsageError('--user USER or --tenant TENANT is required');
}

/**
 * `stonegate cache drop`: invalidates the cached identities of a user or a tenant in all replicas, so that a
 * revoked right ends at once and not when the entries expire.
 */
import type { LoadedConfiguration, LoadSources } from '../config/load.ts';
import { type CommandIO, runCommand, UsageError } from './command.ts';
import { readConfiguration } from './configuration-file.ts';

const USAGE = `Usage: stonegate cache drop (--user USER | --tenant TENANT) --config FILE

Drops the cached identities of a user or a tenant, and ends their watches, followed logs and connections into pods.
All replicas that share the Redis of the configuration follow.

  --user USER       a user, by the whole name that kubectl auth whoami shows (acme:alice), or by
                    Keystone's id
  --tenant TENANT   a tenant, by name
  --config FILE     the configuration of the replicas
  --help            this text

Exit codes: 0 dropped, 1 not dropped, 2 wrong usage.
`;

const NOTHING_SHARED = `the configuration has no cache.redis: each process keeps its identities to itself, and there is nothing shared to drop. Send SIGHUP to the processes instead: it empties what they keep`;

export type CacheDropTarget = { readonly user: string } | { readonly tenant: string };

export interface CacheDropParts {
  /**
   * Drops in the Redis of the configuration.
   *
   * @throws Error with a message for the operator if Redis fails
   */
  drop(loaded: LoadedConfiguration, target: CacheDropTarget): Promise<void>;
  readonly sources?: LoadSources;
}

/** @param argv what follows `cache` */
export function cacheDrop(argv: readonly string[], io: CommandIO, parts: CacheDropParts): Promise<number> {
  const options = {
    config: { type: 'string' },
    user: { type: 'string' },
    tenant: { type: 'string' },
  } as const;
  return runCommand({ usage: USAGE, options, argv, io }, async ({ config, user, tenant }, positionals) => {
    if (positionals.join(' ') !== 'drop') throw new UsageError('the command is: stonegate cache drop');
    const target = targetOf(user, tenant);
    const loaded = await readConfiguration(config, parts.sources);
    if (loaded.configuration.cache.redis === undefined) throw new Error(NOTHING_SHARED);
    await parts.drop(loaded, target);
    const what = 'user' in target ? `the user ${target.user}` : `the tenant ${target.tenant}`;
    io.stdout(`Whatever was cached of ${what} until now counts no more, in any replica.\n`);
  });
}

function targetOf(user: string | undefined, tenant: string | undefined): CacheDropTarget {
  if (user !== undefined && tenant !== undefined) {
    throw new UsageError('--user and --tenant exclude each other');
  }
  if (user !== undefined && user !== '') return { user };
  if (tenant !== undefined && tenant !== '') return { tenant };
  throw new UsageError('--user USER or --tenant TENANT is required');
}

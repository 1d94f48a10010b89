/**
 * `stonegate cache drop`: invalidates the cached identities of a user or a tenant in all replicas, so that a
 * revoked right ends at once and not when the entries expire.
 */
import { type LoadSources, loadConfiguration, systemSources } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import { type CommandIO, EXIT, runCommand, UsageError } from './command.ts';

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

const NOTHING_SHARED = `stonegate cache: the configuration has no cache.redis: each process keeps its identities to itself, and there is nothing shared to drop.
Send SIGHUP to the processes instead: it empties what they keep.
`;

export type CacheDropTarget = { readonly user: string } | { readonly tenant: string };

type Loaded = Extract<Awaited<ReturnType<typeof loadConfiguration>>, { ok: true }>['loaded'];

export interface CacheDropParts {
  /**
   * Drops in the Redis of the configuration.
   *
   * @throws Error with a message for the operator if Redis fails
   */
  drop(loaded: Loaded, target: CacheDropTarget): Promise<void>;
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
    if (config === undefined) throw new UsageError('--config FILE is required');
    const result = await loadConfiguration(config, parts.sources ?? systemSources);
    if (!result.ok) {
      for (const problem of result.problems) io.stderr(`${formatProblem(problem)}\n`);
      return EXIT.failed;
    }
    if (result.loaded.configuration.cache.redis === undefined) {
      io.stderr(NOTHING_SHARED);
      return EXIT.failed;
    }
    return dropAndSay(() => parts.drop(result.loaded, target), target, io);
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

async function dropAndSay(
  drop: () => Promise<void>,
  target: CacheDropTarget,
  io: CommandIO,
): Promise<number> {
  try {
    await drop();
  } catch (error) {
    io.stderr(`stonegate cache: ${error instanceof Error ? error.message : String(error)}\n`);
    return EXIT.failed;
  }
  const what = 'user' in target ? `the user ${target.user}` : `the tenant ${target.tenant}`;
  io.stdout(`Whatever was cached of ${what} until now counts no more, in any replica.\n`);
  return EXIT.fine;
}

/**
 * `stonegate sync`: one provisioning run from Keystone to the cluster, or its plan.
 */
import { type CommandIO, refuseWords, runCommand } from './command.ts';
import { runReconciler, type WithReconciler } from './reconcile.ts';

const USAGE = `Usage: stonegate sync --config FILE [--dry-run] [--force]

Makes what is missing in the cluster for Keystone's projects, domains and roles, puts right what has drifted, and removes
bindings that nothing asks for any more. Namespaces, tenants and roles are never deleted; what Stonegate did not make is
never touched.

  --config FILE   the configuration: its bindings, with bindings.credential
  --dry-run       only print what would be done, as a table
  --force         remove bindings even where they are more than bindings.maxDeletedShare of those there are
  --help          this text

Exit codes: 0 done, or printed, whatever there is to do; 1 something failed, or removals wait for --force; 2 wrong usage.
`;

const OPTIONS = {
  config: { type: 'string' },
  'dry-run': { type: 'boolean' },
  force: { type: 'boolean' },
} as const;

/** @param argv what follows `sync` */
export function sync(
  argv: readonly string[],
  io: CommandIO,
  withReconciler: WithReconciler,
): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, positionals) => {
    refuseWords(positionals);
    const { config, 'dry-run': dryRun = false, force = false } = values;
    return runReconciler({ command: 'sync', config, dryRun, force, withReconciler }, io);
  });
}

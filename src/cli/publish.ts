/**
 * `stonegate publish`: one run of publishing, or its plan.
 */
import { type CommandIO, refuseWords, runCommand } from './command.ts';
import { runReconciler, type WithReconciler } from './reconcile.ts';

const USAGE = `Usage: stonegate publish --config FILE [--dry-run] [--remove]

Copies the objects that the annotation multi-tenancy.k8s.io/published selects into the tenants, puts right what has drifted,
and deletes copies that no object asks for any more. What is no copy is never touched, unless the published object says so.

  --config FILE   the configuration: its publishing, with bindings.credential
  --dry-run       only print what would be done, as a table
  --remove        delete all copies instead, of the kinds in the configuration
  --help          this text

Exit codes: 0 done, or printed, whatever there is to do; 1 something failed; 2 wrong usage.
`;

const OPTIONS = {
  config: { type: 'string' },
  'dry-run': { type: 'boolean' },
  remove: { type: 'boolean' },
} as const;

/**
 * @param argv what follows `publish`
 * @param withPublishing `remove`: whether all copies are to be deleted
 */
export function publish(
  argv: readonly string[],
  io: CommandIO,
  withPublishing: (remove: boolean) => WithReconciler,
): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, positionals) => {
    refuseWords(positionals);
    const { config, 'dry-run': dryRun = false, remove = false } = values;
    const withReconciler = withPublishing(remove);
    return runReconciler({ command: 'publish', config, dryRun, force: false, withReconciler }, io);
  });
}

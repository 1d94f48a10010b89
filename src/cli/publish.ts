/**
 * `stonegate publish`: one run of publishing, or its plan. Names of objects are untrusted text; `columns`
 * replaces their control characters.
 */
import { resourceName } from '../api/published-objects.ts';
import { type LoadedConfiguration, loadConfiguration } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import { reasonOf } from '../errors/status-error.ts';
import { type CommandIO, columns, EXIT, refuseWords, runCommand, UsageError } from './command.ts';
import { whereOf } from './sync.ts';

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

export interface ShownCopyChange {
  readonly action: 'create' | 'update' | 'replace' | 'delete';
  readonly kind: { readonly group: string; readonly resource: string };
  readonly place: ShownPlace;
  readonly object: { readonly metadata: { readonly name: string } };
  readonly reason: string;
}

interface ShownPlace {
  readonly tenant?: string;
  readonly namespace?: string;
}

export interface ShownPublishing<Plan> {
  readonly plan: Plan & {
    readonly changes: readonly ShownCopyChange[];
    readonly conflicts: readonly {
      readonly source: string;
      readonly place: ShownPlace;
      readonly reason: string;
    }[];
    readonly refusals: readonly { readonly source: string; readonly reason: string }[];
    readonly unchanged: number;
  };
  /** What could not be read: copies from there stay as they are. */
  readonly unread: readonly {
    readonly kind: { readonly group: string; readonly resource: string };
    readonly namespace?: string;
    readonly reason: string;
  }[];
}

export interface PublishProgress {
  readonly change: ShownCopyChange;
  readonly reason?: string;
  readonly finished: number;
  readonly total: number;
}

/** The part of publishing that the command uses. */
export interface CommandPublishing<Plan> {
  readonly plan: (signal: AbortSignal) => Promise<ShownPublishing<Plan>>;
  readonly apply: (
    plan: ShownPublishing<Plan>['plan'],
    options: { readonly onProgress: (progress: PublishProgress) => void; readonly signal: AbortSignal },
  ) => Promise<{ readonly done: readonly unknown[]; readonly failures: readonly unknown[] }>;
}

export interface PublishParts {
  /**
   * Builds the components of the configuration and closes them after `run`.
   *
   * @param remove whether all copies are to be deleted
   * @throws Error if the configuration lacks what publishing needs
   */
  readonly withPublishing: (
    loaded: LoadedConfiguration,
    remove: boolean,
    run: <Plan>(publishing: CommandPublishing<Plan>) => Promise<number>,
  ) => Promise<number>;
}

/** @param argv what follows `publish` */
export function publish(argv: readonly string[], io: CommandIO, parts: PublishParts): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, positionals) => {
    refuseWords(positionals);
    if (values.config === undefined) throw new UsageError('--config FILE is required');
    const { 'dry-run': dryRun = false, remove = false } = values;
    const result = await loadConfiguration(values.config);
    if (!result.ok) {
      for (const problem of result.problems) io.stderr(`${formatProblem(problem)}\n`);
      return EXIT.failed;
    }
    try {
      return await parts.withPublishing(result.loaded, remove, (publishing) => run(publishing, dryRun, io));
    } catch (error) {
      if (!(error instanceof Error) || error instanceof UsageError) throw error;
      io.stderr(columns([[`stonegate publish: ${reasonOf(error)}`]]));
      return EXIT.failed;
    }
  });
}

async function run<Plan>(
  publishing: CommandPublishing<Plan>,
  dryRun: boolean,
  { stdout, stderr }: CommandIO,
): Promise<number> {
  // Never aborted: an interrupted process just ends, because each change is independent.
  const { signal } = new AbortController();
  const { plan, unread } = await publishing.plan(signal);
  for (const { kind, namespace, reason } of unread)
    stderr(
      columns([[`not read: ${[resourceName(kind), namespace ?? 'everywhere'].join(' in ')}: ${reason}`]]),
    );
  if (dryRun) {
    stdout(planTables(plan));
    return unread.length > 0 ? EXIT.failed : EXIT.fine;
  }
  const onProgress = ({ change, reason, finished, total }: PublishProgress) => {
    const words = [`[${finished}/${total}]`, change.action, ...cellsOf(change)].join(' ');
    if (reason === undefined) stdout(columns([[`${words} (${change.reason})`]]));
    else stderr(columns([[`${words} FAILED: ${reason}`]]));
  };
  const { done, failures } = await publishing.apply(plan, { onProgress, signal });
  for (const { source, reason } of plan.refusals) stderr(columns([[`refused: ${source}: ${reason}`]]));
  for (const { source, place, reason } of plan.conflicts)
    stderr(columns([[`conflict: ${source} in ${whereOf(place)}: ${reason}`]]));
  stdout(
    `${done.length} done, ${failures.length} failed, ${plan.unchanged} as they should be, ${plan.conflicts.length} in conflict, ${plan.refusals.length} refused\n`,
  );
  return failures.length > 0 || unread.length > 0 ? EXIT.failed : EXIT.fine;
}

/** The whole plan, for `--dry-run`. */
function planTables({ changes, conflicts, refusals, unchanged }: ShownPublishing<object>['plan']): string {
  const made = changes.map((change) => [change.action, ...cellsOf(change), change.reason]);
  const hindered = conflicts.map(({ source, place, reason }) => [source, whereOf(place), reason]);
  const refused = refusals.map(({ source, reason }) => [source, reason]);
  const count = (wanted: ShownCopyChange['action']) =>
    changes.filter(({ action }) => action === wanted).length;
  return [
    ...(made.length === 0 ? [] : [columns([['ACTION', 'KIND', 'PLACE', 'NAME', 'SOURCE'], ...made])]),
    ...(hindered.length === 0 ? [] : [columns([['CONFLICT', 'PLACE', 'WHY'], ...hindered])]),
    ...(refused.length === 0 ? [] : [columns([['REFUSED', 'WHY'], ...refused])]),
    `${count('create')} to create, ${count('update')} to update, ${count('replace')} to replace, ${count('delete')} to delete, ${unchanged} as they should be, ${conflicts.length} in conflict, ${refusals.length} refused\n`,
  ].join('\n');
}

function cellsOf({ kind, place, object }: ShownCopyChange): [string, string, string] {
  return [resourceName(kind), whereOf(place), object.metadata.name];
}

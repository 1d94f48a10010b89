/**
 * `stonegate sync`: one provisioning run from Keystone to the cluster, or its plan. Names of projects and
 * objects are untrusted text; `columns` replaces their control characters.
 */
import { type LoadedConfiguration, loadConfiguration } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import { reasonOf } from '../errors/status-error.ts';
import { type CommandIO, columns, EXIT, refuseWords, runCommand, UsageError } from './command.ts';

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

export interface SyncProgress {
  readonly change: ShownChange;
  readonly failure?: string;
  readonly finished: number;
  readonly total: number;
}

/** The part of provisioning that the command uses. */
export interface SyncProvisioning<Plan extends ShownPlan> {
  /** Warnings about the configuration. */
  readonly warnings: readonly string[];
  /** Warnings about objects in the cluster. */
  readonly clusterWarnings: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly plan: (signal: AbortSignal) => Promise<Plan>;
  /** Namespaces and tenants whose deletions require `--force`, the largest loss first. */
  readonly heldBack: (plan: Plan) => readonly ShownLoss[];
  readonly apply: (
    plan: Plan,
    options: {
      readonly force: boolean;
      readonly onProgress: (progress: SyncProgress) => void;
      readonly signal: AbortSignal;
    },
  ) => Promise<{
    readonly done: number;
    readonly failures: readonly unknown[];
    readonly heldBack: readonly unknown[];
  }>;
}

export interface SyncParts {
  /**
   * Builds the components of the configuration and closes them after `run`.
   *
   * @throws Error if the configuration lacks what provisioning needs
   */
  readonly withProvisioning: (
    loaded: LoadedConfiguration,
    run: <Plan extends ShownPlan>(provisioning: SyncProvisioning<Plan>) => Promise<number>,
  ) => Promise<number>;
}

/** @param argv what follows `sync` */
export function sync(argv: readonly string[], io: CommandIO, parts: SyncParts): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, positionals) => {
    refuseWords(positionals);
    if (values.config === undefined) throw new UsageError('--config FILE is required');
    const { 'dry-run': dryRun = false, force = false } = values;
    const result = await loadConfiguration(values.config);
    if (!result.ok) {
      for (const problem of result.problems) io.stderr(`${formatProblem(problem)}\n`);
      return EXIT.failed;
    }
    try {
      return await parts.withProvisioning(result.loaded, (provisioning) =>
        run(provisioning, { dryRun, force }, io),
      );
    } catch (error) {
      if (!(error instanceof Error) || error instanceof UsageError) throw error;
      io.stderr(columns([[`stonegate sync: ${reasonOf(error)}`]]));
      return EXIT.failed;
    }
  });
}

async function run<Plan extends ShownPlan>(
  { warnings, clusterWarnings, plan: makePlan, heldBack, apply }: SyncProvisioning<Plan>,
  { dryRun, force }: { readonly dryRun: boolean; readonly force: boolean },
  { stdout, stderr }: CommandIO,
): Promise<number> {
  for (const warning of warnings) stderr(`warning: ${warning}\n`);
  // Never aborted: an interrupted process just ends, because each change is independent.
  const { signal } = new AbortController();
  for (const warning of await clusterWarnings(signal)) stderr(columns([[`warning: ${warning}`]]));
  const plan = await makePlan(signal);
  const held = force ? [] : heldBack(plan);
  if (dryRun) {
    stdout(planTables(plan));
    if (held.length > 0) stderr(heldBackLine(held));
    return EXIT.fine;
  }
  const onProgress = ({ change, failure, finished, total }: SyncProgress) =>
    (failure === undefined ? stdout : stderr)(changeLine(change, `${finished}/${total}`, failure));
  const { done, failures } = await apply(plan, { force, onProgress, signal });
  for (const { subject, reason } of plan.refusals) stderr(columns([[`refused: ${subject}: ${reason}`]]));
  stdout(totalsLine(plan, done, failures.length));
  if (held.length > 0) stderr(heldBackLine(held));
  return failures.length > 0 || held.length > 0 ? EXIT.failed : EXIT.fine;
}

export interface ShownChange {
  readonly action: 'create' | 'update' | 'delete';
  readonly object: { readonly kind: string; readonly metadata: { readonly name: string } };
  readonly place: { readonly tenant?: string; readonly namespace?: string };
  readonly reason: string;
}

export interface ShownPlan {
  readonly changes: readonly ShownChange[];
  readonly refusals: readonly { readonly subject: string; readonly reason: string }[];
  readonly unchanged: number;
}

/** The number of bindings that a namespace or tenant would lose. */
export interface ShownLoss {
  readonly place: ShownChange['place'];
  readonly going: number;
  readonly there: number;
}

/** At most this many places are named; `--dry-run` shows every binding. */
const NAMED = 5;

/** The whole plan, for `--dry-run`. */
function planTables(plan: ShownPlan): string {
  const changes = plan.changes.map((change) => [change.action, ...cellsOf(change), change.reason]);
  const refusals = plan.refusals.map(({ subject, reason }) => [subject, reason]);
  return [
    ...(changes.length === 0 ? [] : [columns([['ACTION', 'KIND', 'PLACE', 'NAME', 'WHY'], ...changes])]),
    ...(refusals.length === 0 ? [] : [columns([['REFUSED', 'WHY'], ...refusals])]),
    columns([[`${countsOf(plan)}, ${plan.unchanged} as they should be, ${refusals.length} refused`]]),
  ].join('\n');
}

/** @param failure the error; undefined if the change was made */
function changeLine(change: ShownChange, progress: string, failure: string | undefined): string {
  const words = [`[${progress}]`, change.action, ...cellsOf(change)].join(' ');
  return columns([[failure === undefined ? `${words} (${change.reason})` : `${words} FAILED: ${failure}`]]);
}

function totalsLine(plan: ShownPlan, done: number, failed: number): string {
  const { unchanged, refusals } = plan;
  return `${done} done, ${failed} failed, ${unchanged} as they should be, ${refusals.length} refused\n`;
}

/** @param losses per place whose deletions are held back, the largest first */
export function heldBackLine(losses: readonly ShownLoss[]): string {
  const count = losses.reduce((sum, { going }) => sum + going, 0);
  const named = losses
    .slice(0, NAMED)
    .map(({ place, going, there }) => `${whereOf(place)} (${going} of ${there})`);
  const more = losses.length > NAMED ? `, and ${losses.length - NAMED} more` : '';
  return columns([
    [
      `${count} removals are more than bindings.maxDeletedShare allows and wait for --force, of the bindings in: ${named.join(', ')}${more}`,
    ],
  ]);
}

function cellsOf({ object, place }: ShownChange): [string, string, string] {
  return [object.kind, whereOf(place), object.metadata.name];
}

/** For messages: `acme/web`. */
export function whereOf({ tenant, namespace }: ShownChange['place']): string {
  const path = [tenant, namespace].filter((part) => part !== undefined).join('/');
  return path === '' ? '-' : path;
}

function countsOf({ changes }: ShownPlan): string {
  const count = (action: ShownChange['action']) =>
    changes.filter((change) => change.action === action).length;
  return `${count('create')} to create, ${count('update')} to update, ${count('delete')} to delete`;
}

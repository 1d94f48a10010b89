/**
 * `stonegate sync`: makes the cluster say what Keystone says, once, or shows what that would be.
 */
import { type LoadedConfiguration, loadConfiguration } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import { reasonOf } from '../errors/status-error.ts';
import { columns } from './output.ts';
import {
  changeLine,
  heldBackLine,
  planTables,
  type ShownChange,
  type ShownLoss,
  type ShownPlan,
  totalsLine,
} from './sync/report.ts';
import { type CommandIO, EXIT, runCommand, UsageError } from './usage.ts';

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

/** Provisioning, as the command sees it. */
export interface SyncProvisioning<Plan extends ShownPlan> {
  /** What the operator has to know of this configuration. */
  readonly warnings: readonly string[];
  /** The same of what is in the cluster. */
  readonly clusterWarnings: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly plan: (signal: AbortSignal) => Promise<Plan>;
  /** Where deletions wait for `--force`, the largest loss first. */
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
   * Builds what the configuration describes, and ends it when `run` is over.
   *
   * @throws Error where the configuration lacks what provisioning needs
   */
  readonly withProvisioning: (
    loaded: LoadedConfiguration,
    run: <Plan extends ShownPlan>(provisioning: SyncProvisioning<Plan>) => Promise<number>,
  ) => Promise<number>;
}

/** @param argv what follows `sync` */
export function sync(argv: readonly string[], io: CommandIO, parts: SyncParts): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, positionals) => {
    if (positionals.length > 0) throw new UsageError(`unexpected argument ${positionals[0]}`);
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
  // Who breaks it off ends the process: each change stands for itself.
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

/**
 * The projects that the user may choose from, read from Keystone with the same login command that kubectl
 * will run.
 */
import { parseArgs } from 'node:util';
import { createKeystoneHTTP } from '../../identity/keystone/keystone-http.ts';
import { type AvailableProject, listProjects } from '../../identity/keystone/keystone-login.ts';
import { systemClock } from '../../lib/clock.ts';
import { noTelemetry } from '../../lib/telemetry.ts';
import { UsageError } from '../command.ts';
import { readGiven } from '../given-file.ts';
import type { KeystonePlan } from '../login/keystone-settings.ts';
import { planKeystoneLogin } from '../login/keystone-source.ts';
import { LOGIN_OPTIONS } from '../login/login-options.ts';
import { runExecPlugin } from './exec-plugin.ts';
import { KubeconfigError } from './file.ts';

/** Milliseconds. */
const TIMEOUT = 30_000;

export interface ProjectsOptions {
  /** The command that kubectl would run. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
}

/**
 * @param wanted `all`, or names and ids
 * @returns each once
 * @throws UsageError, KubeconfigError, LoginError, ExecPluginError, StatusError
 */
export async function chooseProjects(
  wanted: readonly string[],
  options: ProjectsOptions,
): Promise<readonly AvailableProject[]> {
  const { command, args } = options;
  const plan = await planOf(options);
  const plugin = { apiVersion: 'client.authentication.k8s.io/v1', installHint: undefined, env: {} };
  const token = await runExecPlugin({ ...plugin, command, args, mayAsk: process.stdin.isTTY === true });
  const available = await projectsAt(plan, token);
  if (available.length === 0) throw new KubeconfigError('you have a role on no project');
  if (wanted.includes('all')) return available;
  // A project may be named by name and by id.
  return [...new Set(wanted.map((word) => only(word, available)))];
}

async function planOf({ args, env, folder }: ProjectsOptions): Promise<KeystonePlan> {
  const { values } = parseArgs({
    args: [...args],
    options: LOGIN_OPTIONS,
    strict: false,
    allowPositionals: true,
  });
  const plan = await planKeystoneLogin({ values, env, folder });
  if (plan.proof.method === 'application_credential')
    throw new UsageError('an application credential is good for its own project alone: leave out --projects');
  return plan;
}

async function projectsAt({ url, caFile }: KeystonePlan, token: string): Promise<AvailableProject[]> {
  const ca = caFile === undefined ? {} : { ca: await readGiven('cacert', caFile) };
  const http = createKeystoneHTTP({
    url,
    ...ca,
    timeout: TIMEOUT,
    clock: systemClock,
    telemetry: noTelemetry,
  });
  try {
    return await listProjects(http, token);
  } finally {
    await http.close();
  }
}

/** Names may repeat across domains; ids are unique. */
function only(word: string, available: readonly AvailableProject[]): AvailableProject {
  const byID = available.find(({ id }) => id === word);
  if (byID !== undefined) return byID;
  const [found, another] = available.filter(({ name }) => name === word);
  if (found === undefined) {
    const names = available.map(({ name }) => name).join(', ');
    throw new KubeconfigError(`you have no project ${JSON.stringify(word)}; there are: ${names}`);
  }
  if (another !== undefined)
    throw new KubeconfigError(`several projects are called ${JSON.stringify(word)}: give the id of one`);
  return found;
}

/**
 * The projects that the user may choose from, read from Keystone with the same login command that kubectl
 * will run.
 */
import { type AvailableProject, listProjects } from '../../identity/keystone/keystone-login.ts';
import { systemClock } from '../../lib/clock.ts';
import { UsageError } from '../command.ts';
import { withKeystone } from '../login/keystone-exchange.ts';
import { planKeystoneLogin } from '../login/keystone-source.ts';
import type { KeystoneValues } from '../login/login-options.ts';
import { runExecPlugin } from './exec-plugin.ts';

export interface ProjectsOptions {
  /** The command that kubectl would run. */
  readonly command: string;
  readonly args: readonly string[];
  /** The same arguments, parsed. */
  readonly values: KeystoneValues;
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
}

/**
 * @param wanted `all`, or names and ids
 * @returns each once
 * @throws UsageError, or Error with a sentence for the user
 */
export async function chooseProjects(
  wanted: readonly string[],
  options: ProjectsOptions,
): Promise<readonly AvailableProject[]> {
  const { command, args, values, env, folder } = options;
  const plan = await planKeystoneLogin({ values, env, folder });
  if (plan.proof.method === 'application_credential')
    throw new UsageError('an application credential is good for its own project alone: leave out --projects');
  const plugin = { apiVersion: 'client.authentication.k8s.io/v1', installHint: undefined, env: {} };
  const token = await runExecPlugin({ ...plugin, command, args, mayAsk: process.stdin.isTTY === true });
  const available = await withKeystone(plan, systemClock, (http) => listProjects(http, token));
  if (available.length === 0) throw new Error('you have a role on no project');
  if (wanted.includes('all')) return available;
  // A project may be named by name and by id.
  return [...new Set(wanted.map((word) => only(word, available)))];
}

/** Names may repeat across domains; ids are unique. */
function only(word: string, available: readonly AvailableProject[]): AvailableProject {
  const byID = available.find(({ id }) => id === word);
  if (byID !== undefined) return byID;
  const [found, another] = available.filter(({ name }) => name === word);
  if (found === undefined) {
    const names = available.map(({ name }) => name).join(', ');
    throw new Error(`you have no project ${JSON.stringify(word)}; there are: ${names}`);
  }
  if (another !== undefined)
    throw new Error(`several projects are called ${JSON.stringify(word)}: give the id of one`);
  return found;
}

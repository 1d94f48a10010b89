/**
 * The projects that the user may choose from, read from Keystone with the same login command that kubectl
 * will run, and their namespaces, read from Stonegate.
 */
import { SELF_IDENTITY_PATH, type SelfIdentity } from '../../features/explain/stonegate-v1alpha1.ts';
import { type AvailableProject, listProjects, logIn } from '../../identity/keystone/keystone-login.ts';
import { systemClock } from '../../lib/clock.ts';
import { UsageError } from '../command.ts';
import { withKeystone } from '../login/keystone-exchange.ts';
import type { KeystonePlan } from '../login/keystone-settings.ts';
import { planKeystoneLogin } from '../login/keystone-source.ts';
import type { KeystoneValues } from '../login/login-options.ts';
import { askFor, type StonegateAddress } from '../stonegate-api.ts';
import { runExecPlugin } from './exec-plugin.ts';

export interface ProjectsOptions {
  /** The command that kubectl would run. */
  readonly command: string;
  readonly args: readonly string[];
  /** The same arguments, parsed. */
  readonly values: KeystoneValues;
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  readonly stonegate: Pick<StonegateAddress, 'url' | 'ca'>;
  /** Called if Stonegate does not say what the namespaces are. */
  readonly namespaceUnknown: (reason: Error) => void;
}

export interface ProjectAccess extends AvailableProject {
  readonly namespace: string | undefined;
}

/**
 * The namespace of the project for which the login is. Only Stonegate knows it.
 *
 * @returns undefined if there is none or it could not be asked for
 */
export async function namespaceOfLogin(options: ProjectsOptions): Promise<string | undefined> {
  try {
    await planKeystoneLogin(options);
    const scope = await scopeOf(await obtainToken(options), options);
    if (scope?.kind === 'unscoped')
      options.namespaceUnknown(
        new Error('the login is for no project; --projects all creates a context for each'),
      );
    return scope?.namespace;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    options.namespaceUnknown(error);
    return undefined;
  }
}

/**
 * @param wanted `all`, or names and ids
 * @returns each once, the login's own first
 * @throws UsageError, or Error with a sentence for the user
 */
export async function chooseProjects(
  wanted: readonly string[],
  options: ProjectsOptions,
): Promise<readonly ProjectAccess[]> {
  const plan = await planKeystoneLogin(options);
  if (plan.proof.method === 'application_credential')
    throw new UsageError('an application credential is good for its own project alone: leave out --projects');
  const token = await obtainToken(options);
  const available = await withKeystone(plan, systemClock, (http) => listProjects(http, token));
  if (available.length === 0) throw new Error('you have a role on no project');
  // A project may be named by name and by id.
  const chosen = wanted.includes('all')
    ? available
    : [...new Set(wanted.map((word) => only(word, available)))];
  return withNamespaces(chosen, { plan, token }, options);
}

interface Login {
  readonly plan: KeystonePlan;
  readonly token: string;
}

const INSTALL_HINT = 'kubectl runs it to log in: put it on the PATH, or use --command FILE';

export async function obtainToken({
  command,
  args,
}: Pick<ProjectsOptions, 'command' | 'args'>): Promise<string> {
  const plugin = { apiVersion: 'client.authentication.k8s.io/v1', installHint: INSTALL_HINT, env: {} };
  const mayAsk = process.stdin.isTTY === true;
  return (await runExecPlugin({ ...plugin, command, args, mayAsk })).token;
}

async function withNamespaces(
  projects: readonly AvailableProject[],
  { plan, token }: Login,
  options: ProjectsOptions,
): Promise<readonly ProjectAccess[]> {
  const found = new Map<string, string | undefined>();
  let own: ProjectScope;
  try {
    own = await scopeOf(token, options);
    for (const { id } of projects) {
      const scope = id === own?.id ? own : await scopeOf(await tokenFor(id, { plan, token }), options);
      found.set(id, scope?.namespace);
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    options.namespaceUnknown(error);
  }
  return projects
    .map((project) => ({ ...project, namespace: found.get(project.id) }))
    .toSorted((a, b) => Number(b.id === own?.id) - Number(a.id === own?.id));
}

type ProjectScope = SelfIdentity['status']['scope'];

async function scopeOf(token: string, { stonegate }: ProjectsOptions): Promise<ProjectScope> {
  const address = { ...stonegate, authorization: `Bearer ${token}` };
  const self = await askFor<SelfIdentity>(address, SELF_IDENTITY_PATH);
  return self.status.scope;
}

async function tokenFor(id: string, { plan, token }: Login): Promise<string> {
  const { issued } = await withKeystone(plan, systemClock, (http) =>
    logIn(http, { method: 'token', token }, { project: { id } }, systemClock.now()),
  );
  if (issued === undefined) throw new Error(`Keystone issues no token for the project ${id}`);
  return issued.token;
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
    throw new Error(`several projects are called ${JSON.stringify(word)}: use the id of one`);
  return found;
}

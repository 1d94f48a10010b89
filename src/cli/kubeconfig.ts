/**
 * `stonegate kubeconfig`: adds a cluster, users and contexts to the user's kubeconfig, with `stonegate
 * login` as credential plugin.
 */
import { existsSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import {
  accessPerProject,
  type KubeconfigAccess,
  type KubeconfigCluster,
  kubeconfigEntries,
  kubeconfigName,
} from '../kubernetes/kubeconfig-v1.ts';
import { readIfThere } from '../lib/file-errors.ts';
import { makeFolder } from '../lib/make-folder.ts';
import {
  type CommandIO,
  createCommand,
  EXIT,
  FLAG,
  type Note,
  type OptionValues,
  UsageError,
  VALUE,
  VALUES,
} from './command.ts';
import { absoluteName, readAuthority } from './given-file.ts';
import { changeFile, fileToChange } from './kubeconfig/change-file.ts';
import { mergeEntries } from './kubeconfig/entries.ts';
import { kubeconfigFiles, readKubeconfigFile } from './kubeconfig/file.ts';
import {
  assertLabel,
  checkCloud,
  type LoginArguments,
  readFingerprint,
  readLoginArguments,
  readName,
  readProjects,
  readServer,
} from './kubeconfig/options.ts';
import type { ProjectsOptions } from './kubeconfig/projects.ts';
import { createQuestion, type Question } from './login/terminal.ts';
import { replaceFile } from './replace-file.ts';

const USAGE = `Usage: stonegate kubeconfig --server URL [OPTIONS] [-- LOGIN-OPTIONS]

Adds a cluster, a user and a context to your kubeconfig. The user logs in with
"stonegate login LOGIN-OPTIONS", which kubectl runs by itself: no secret is
written, but with --token-scope. Everything else in the file stays as it is.

  --server URL        of Stonegate or its portal: https://…
  --provider NAME     where you log in, if the server names several providers
  --ca-file FILE      the authority of its certificate, which is put into the
                      file; without it the system's
  --ca-fingerprint SHA256
                      take the authority that the server names, if this is its
                      fingerprint; without it you are asked at a terminal
  --tenant NAME       of a tenant that a policy lets you into: the context works
                      there, with the rights of a guest
  --name NAME         of letters, digits and dashes, for the cluster and the
                      context; without it the server's host, and the tenant
  --namespace NAME    where the context works; without it the namespace of the
                      Keystone project, which Stonegate is asked for
  --projects LIST     one context for each of these Keystone projects: "all", or
                      names or ids with commas between
  --token-scope SCOPE the user of the context, NAME-SCOPE, has an access token
                      with this scope in place of the login, which creates it:
                      the token is written. As often as needed: see stonegate
                      token
  --token-expires TIME
                      when it ends: 12h, 30d
  --token-file FILE   where to write the token, which only you can read: the
                      kubeconfig names the file and contains no secret
  --use               switch to the (first) new context; done anyhow where none
                      is the current one
  --force             replace entries of the same name that stonegate did not
                      create; accept a cloud that is not known here
  --print             only show what would be added or replaced, and nothing
                      else of the file
  --kubeconfig FILE   instead of KUBECONFIG or ~/.kube/config
  --command FILE      what kubectl runs; without it "stonegate", which must be
                      on the PATH
  --help              this text

LOGIN-OPTIONS begin with --keystone or --oidc: see stonegate login --help.
Without them the server is asked how to log in.
Exit codes: 0 done, 1 failed, 2 wrong usage.
`;

const OPTIONS = {
  server: VALUE,
  provider: VALUE,
  'ca-file': VALUE,
  'ca-fingerprint': VALUE,
  tenant: VALUE,
  name: VALUE,
  namespace: VALUE,
  projects: VALUE,
  'token-scope': VALUES,
  'token-expires': VALUE,
  'token-file': VALUE,
  use: FLAG,
  force: FLAG,
  print: FLAG,
  kubeconfig: VALUE,
  command: VALUE,
} as const;

export interface KubeconfigParts {
  readonly env: NodeJS.ProcessEnv;
  /** The base of relative names. */
  readonly folder: string;
  /** Absent: nothing is asked. */
  readonly question?: Question;
}

/** @param argv what follows `kubeconfig` */
export function kubeconfig(
  argv: readonly string[],
  io: CommandIO,
  parts: KubeconfigParts = { env: process.env, folder: process.cwd(), question: createQuestion(process) },
): Promise<number> {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  return addEntries(argv.slice(0, end), io, argv.slice(end + 1), parts);
}

const addEntries = createCommand(
  { usage: USAGE, options: OPTIONS },
  async ({ values, note, io }, loginWords: readonly string[], parts: KubeconfigParts) => {
    const given = readServer(values.server);
    assertLabel('--namespace', values.namespace);
    assertLabel('--tenant', values.tenant);
    readName(values.name, given, values.tenant);
    const { force = false, use = false, print = false, 'token-scope': scopes = [] } = values;
    if (scopes.length > 0 && (print || values.projects !== undefined))
      throw new UsageError('--token-scope creates one token and writes it: leave out --print and --projects');
    for (const option of ['token-expires', 'token-file'] as const)
      if (scopes.length === 0 && values[option] !== undefined)
        throw new UsageError(`--${option} needs --token-scope`);
    const tokenFile = values['token-file'] && absoluteName(values['token-file'], parts.env, parts.folder);
    const { server, portalURL, login, ca } = await connect(values, loginWords, given, parts);
    const name = readName(values.name, server, values.tenant);
    if (values.projects !== undefined && login.way !== 'keystone')
      throw new UsageError('--projects is for -- --keystone: others have none');
    const warning = force ? undefined : await checkCloud(login.values['os-cloud'], parts);
    if (warning !== undefined) note(warning);
    const run: LoginRun = {
      ...{ ...login, ...parts, command: commandOf(values, parts) },
      stonegate: { url: server.origin, ca },
    };
    // Stonegate takes the prefix of a tenant off each path.
    const address = values.tenant === undefined ? server.origin : `${server.origin}/tenants/${values.tenant}`;
    const accesses = await planAccesses(values, name, run, note);
    const entriesWith = (credential: Pick<KubeconfigAccess, 'token' | 'tokenFile'>) =>
      kubeconfigEntries(
        { name, server: address, ca, portalURL },
        accesses.map((access) => ({ ...access, ...credential })),
        run.command,
      );
    let entries = entriesWith({});
    const names = entries.contexts.map(({ name }) => name);
    const file = await fileToChange(kubeconfigFiles(values.kubeconfig, parts.env));
    const merge = (text: string | undefined) =>
      mergeEntries(text, entries, { force, use: use ? names[0] : undefined }, file);
    if (print) {
      io.stdout(merge(await readKubeconfigFile(file)).added);
      return EXIT.fine;
    }
    if (scopes.length > 0) {
      // A name that is taken is refused before there is a token.
      merge(await readKubeconfigFile(file));
      const token = () => makeContextToken(values, run, note);
      if (tokenFile !== undefined) {
        await assertTokenFile(tokenFile);
        await replaceFile(tokenFile, async () => `${await token()}\n`);
      }
      entries = entriesWith(tokenFile === undefined ? { token: await token() } : { tokenFile });
    }
    await changeFile(file, (text) => merge(text).merged);
    if (scopes.length === 0 && !isFound(run.command, parts.env))
      note(
        `${run.command} is not on the PATH, where kubectl looks for it: install it, or give --command FILE`,
      );
    io.stdout(`${file}: ${names.length === 1 ? 'context' : 'contexts'} ${names.join(', ')}\n`);
    return EXIT.fine;
  },
);

/** How to log in, as the user says or the server; its address and authority. */
async function connect(
  values: OptionValues<typeof OPTIONS>,
  loginWords: readonly string[],
  server: URL,
  parts: KubeconfigParts,
): Promise<
  Pick<KubeconfigCluster, 'ca' | 'portalURL'> & { readonly server: URL; readonly login: LoginArguments }
> {
  const { provider, 'ca-file': file, 'ca-fingerprint': given } = values;
  const fingerprint = readFingerprint(given);
  const stated = loginWords.length === 0 ? undefined : readLoginArguments(loginWords, parts);
  if (file !== undefined && fingerprint !== undefined)
    throw new UsageError('--ca-file and --ca-fingerprint say the same: use one of them');
  if (stated !== undefined && provider !== undefined)
    throw new UsageError(
      '--provider is for a login that the server names: leave it out, or what is behind "--"',
    );
  const ca = file === undefined ? undefined : await readAuthority('--ca-file', file, parts.folder);
  if (stated !== undefined && fingerprint === undefined) return { server, login: stated, ca };
  const { chooseLogin, readServerSetup } = await import('./kubeconfig/server-setup.ts');
  const setup = await readServerSetup(server, { ca, fingerprint, question: parts.question });
  const words = stated ? undefined : await chooseLogin(setup.spec, provider, parts);
  const { portal: portalURL } = setup.spec;
  return { ...setup, portalURL, login: stated ?? readLoginArguments(words ?? [], parts) };
}

/** Whether kubectl finds the command. */
function isFound(command: string, { PATH = '' }: NodeJS.ProcessEnv): boolean {
  const names = process.platform === 'win32' ? [`${command}.exe`, `${command}.cmd`] : [command];
  return (
    command.includes('/') ||
    PATH.split(delimiter).some((folder) => names.some((name) => existsSync(join(folder, name))))
  );
}

/** @throws Error for a file that is not of an access token */
async function assertTokenFile(file: string): Promise<void> {
  await makeFolder(dirname(file), 0o700);
  const content = await readIfThere(file);
  if (content !== undefined && !/^sgt_\S+\s*$/.test(content))
    throw new Error(`--token-file: ${file} is there and contains no access token: choose another`);
}

/** How kubectl will log in, and where. */
type LoginRun = LoginArguments & Omit<ProjectsOptions, 'namespaceUnknown'>;

function commandOf({ command = 'stonegate' }: OptionValues<typeof OPTIONS>, { folder }: KubeconfigParts) {
  return command.includes('/') ? resolve(folder, command) : command;
}

/** The module that talks to Keystone and Stonegate is imported on demand. */
async function planAccesses(
  { tenant, projects, namespace: given, 'token-scope': scopes = [] }: OptionValues<typeof OPTIONS>,
  cluster: string,
  run: LoginRun,
  note: Note,
): Promise<readonly KubeconfigAccess[]> {
  const { args, way } = run;
  const name = [cluster, kubeconfigName(...scopes)].filter(Boolean).join('-');
  const scoped = scopes.map((scope) => /^namespace\/([^/]+)\//.exec(scope)?.[1]).find(Boolean);
  const namespace = given ?? scoped;
  // The projects of the own tenant say nothing about another.
  const asksNamespace = namespace === undefined && tenant === undefined;
  if (way === 'oidc' || (projects === undefined && !asksNamespace)) return [{ name, args, namespace }];
  const { chooseProjects, namespaceOfLogin } = await import('./kubeconfig/projects.ts');
  const options: ProjectsOptions = {
    ...run,
    namespaceUnknown(reason) {
      if (asksNamespace) note(`no namespace is set: ${reason.message}. Set it with --namespace NAME`, reason);
    },
  };
  if (projects === undefined) return [{ name, args, namespace: await namespaceOfLogin(options) }];
  const accesses = accessPerProject(name, await chooseProjects(readProjects(projects), options), args);
  return asksNamespace ? accesses : accesses.map((access) => ({ ...access, namespace }));
}

/** The token is created with the login that kubectl would run. */
async function makeContextToken(
  { 'token-scope': scopes, 'token-expires': expires }: OptionValues<typeof OPTIONS>,
  run: LoginRun,
  note: Note,
): Promise<string> {
  const { obtainToken } = await import('./kubeconfig/projects.ts');
  const { makeToken } = await import('./make-token.ts');
  const authorization = `Bearer ${await obtainToken(run)}`;
  const request = { scopes, expires, description: 'stonegate kubeconfig' };
  return makeToken({ ...run.stonegate, authorization }, request, note, '--token-expires');
}

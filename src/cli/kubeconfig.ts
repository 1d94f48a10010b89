/**
 * `stonegate kubeconfig`: adds a cluster, users and contexts to the user's kubeconfig, with `stonegate
 * login` as credential plugin.
 */
import { resolve } from 'node:path';
import {
  accessPerProject,
  type KubeconfigAccess,
  kubeconfigEntries,
  kubeconfigName,
} from '../kubernetes/kubeconfig-v1.ts';
import { type CommandIO, createCommand, EXIT, type Note, type OptionValues, UsageError } from './command.ts';
import { readAuthority } from './given-file.ts';
import { mergeEntries } from './kubeconfig/entries.ts';
import { changeFile, fileToChange, kubeconfigFiles, readKubeconfigFile } from './kubeconfig/file.ts';
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

const USAGE = `Usage: stonegate kubeconfig --server URL [OPTIONS] [-- LOGIN-OPTIONS]

Adds a cluster, a user and a context to your kubeconfig. The user logs in with
"stonegate login LOGIN-OPTIONS", which kubectl runs by itself: no secret is
written, but with --token-scope. Everything else in the file stays as it is.

  --server URL        of Stonegate: https://…
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
                      with this scope in place of the login, which makes it: the
                      token is written. As often as needed: see stonegate token
  --token-expires TIME
                      when it ends: 12h, 30d
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
Exit codes: 0 done, 1 not done, 2 wrong usage.
`;

const OPTIONS = {
  server: { type: 'string' },
  provider: { type: 'string' },
  'ca-file': { type: 'string' },
  'ca-fingerprint': { type: 'string' },
  tenant: { type: 'string' },
  name: { type: 'string' },
  namespace: { type: 'string' },
  projects: { type: 'string' },
  'token-scope': { type: 'string', multiple: true },
  'token-expires': { type: 'string' },
  use: { type: 'boolean' },
  force: { type: 'boolean' },
  print: { type: 'boolean' },
  kubeconfig: { type: 'string' },
  command: { type: 'string' },
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
    const server = readServer(values.server);
    assertLabel('--namespace', values.namespace);
    assertLabel('--tenant', values.tenant);
    const name = readName(values.name, server, values.tenant);
    const { force = false, use = false, print = false, 'token-scope': scopes = [] } = values;
    if (scopes.length > 0 && (print || values.projects !== undefined))
      throw new UsageError('--token-scope makes one token and writes it: leave out --print and --projects');
    if (scopes.length === 0 && values['token-expires'] !== undefined)
      throw new UsageError('--token-expires needs --token-scope');
    const { login, ca } = await connect(values, loginWords, server, parts);
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
    const entriesWith = (token?: string) =>
      kubeconfigEntries(
        { name, server: address, ca },
        accesses.map((access) => ({ ...access, token })),
        run.command,
      );
    let entries = entriesWith();
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
      entries = entriesWith(await makeContextToken(values, run, note));
    }
    await changeFile(file, (text) => merge(text).merged);
    io.stdout(`${file}: ${names.length === 1 ? 'context' : 'contexts'} ${names.join(', ')}\n`);
    return EXIT.fine;
  },
);

/** How to log in, as the user says or the server, and the authority of the server. */
async function connect(
  values: OptionValues<typeof OPTIONS>,
  loginWords: readonly string[],
  server: URL,
  parts: KubeconfigParts,
): Promise<{ readonly login: LoginArguments; readonly ca: string | undefined }> {
  const { provider, 'ca-file': file, 'ca-fingerprint': given } = values;
  const fingerprint = readFingerprint(given);
  const stated = loginWords.length === 0 ? undefined : readLoginArguments(loginWords, parts);
  if (file !== undefined && fingerprint !== undefined)
    throw new UsageError('--ca-file and --ca-fingerprint say the same: give one of them');
  if (stated !== undefined && provider !== undefined)
    throw new UsageError(
      '--provider is for a login that the server names: leave it out, or what is behind "--"',
    );
  const ca = file === undefined ? undefined : await readAuthority('--ca-file', file, parts.folder);
  if (stated !== undefined && fingerprint === undefined) return { login: stated, ca };
  const { chooseLogin, readServerSetup } = await import('./kubeconfig/server-setup.ts');
  const setup = await readServerSetup(server, { ca, fingerprint, question: parts.question });
  if (stated !== undefined) return { login: stated, ca: setup.ca };
  const words = await chooseLogin(setup.spec, provider, parts);
  return { login: readLoginArguments(words, parts), ca: setup.ca };
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
      if (asksNamespace)
        note(`no namespace is set: ${reason.message}. Give it with --namespace NAME`, reason);
    },
  };
  if (projects === undefined) return [{ name, args, namespace: await namespaceOfLogin(options) }];
  const accesses = accessPerProject(name, await chooseProjects(readProjects(projects), options), args);
  return asksNamespace ? accesses : accesses.map((access) => ({ ...access, namespace }));
}

/** The token is made with the login that kubectl would run. */
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

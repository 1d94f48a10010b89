/**
 * `stonegate kubeconfig`: adds a cluster, users and contexts to the user's kubeconfig, with `stonegate
 * login` as credential plugin.
 */
import { resolve } from 'node:path';
import { accessPerProject, type KubeconfigEntries, kubeconfigEntries } from '../kubernetes/kubeconfig-v1.ts';
import { type CommandIO, type OptionValues, refuseWords, runCommand, UsageError } from './command.ts';
import { readAuthority } from './given-file.ts';
import { assertNamesFree, mergeEntries } from './kubeconfig/entries.ts';
import { changeFile, fileToChange, kubeconfigFiles, readKubeconfigFile } from './kubeconfig/file.ts';
import {
  assertLabel,
  checkCloud,
  type LoginArguments,
  readLoginArguments,
  readName,
  readProjects,
  readServer,
} from './kubeconfig/options.ts';

const USAGE = `Usage: stonegate kubeconfig --server URL [OPTIONS] -- LOGIN-OPTIONS

Adds a cluster, a user and a context to your kubeconfig. The user logs in with
"stonegate login LOGIN-OPTIONS", which kubectl runs by itself: no secret is
written. Everything else in the file stays as it is.

  --server URL        of Stonegate: https://…
  --ca-file FILE      the authority of its certificate, which is put into the
                      file; without it the system's
  --tenant NAME       of a tenant that a policy lets you into: the context works
                      there, with the rights of a guest
  --name NAME         of letters, digits and dashes, for the cluster and the
                      context; without it the server's host, and the tenant
  --namespace NAME    where the context works, if not in "default"
  --projects LIST     one context for each of these Keystone projects: "all", or
                      names or ids with commas between
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
Exit codes: 0 done, 1 not done, 2 wrong usage.
`;

const OPTIONS = {
  server: { type: 'string' },
  'ca-file': { type: 'string' },
  tenant: { type: 'string' },
  name: { type: 'string' },
  namespace: { type: 'string' },
  projects: { type: 'string' },
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
}

/** @param argv what follows `kubeconfig` */
export function kubeconfig(
  argv: readonly string[],
  io: CommandIO,
  parts: KubeconfigParts = { env: process.env, folder: process.cwd() },
): Promise<number> {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const own = argv.slice(0, end);
  return runCommand({ usage: USAGE, options: OPTIONS, argv: own, io }, async (values, words, note) => {
    refuseWords(words);
    const login = readLoginArguments(argv.slice(end + 1), parts);
    if (values.projects !== undefined && login.way !== 'keystone')
      throw new UsageError('--projects is for -- --keystone: others have none');
    const server = readServer(values.server);
    assertLabel('--namespace', values.namespace);
    assertLabel('--tenant', values.tenant);
    const { force = false, use = false, print = false } = values;
    const warning = force ? undefined : await checkCloud(login.values['os-cloud'], parts);
    if (warning !== undefined) note(warning);
    const entries = await entriesFor(values, server, login, parts);
    const names = entries.contexts.map(({ name }) => name);
    const files = kubeconfigFiles(values.kubeconfig, parts.env);
    const file = await fileToChange(files);
    const others = force ? [] : files.filter((other) => other !== file);
    for (const other of others) assertNamesFree(await readKubeconfigFile(other), entries, other);
    const merge = (text: string | undefined) =>
      mergeEntries(text, entries, { force, use: use ? names[0] : undefined }, file);
    if (print) {
      io.stdout(merge(await readKubeconfigFile(file)).added);
      return;
    }
    await changeFile(file, (text) => merge(text).merged);
    io.stdout(`${file}: ${names.length === 1 ? 'context' : 'contexts'} ${names.join(', ')}\n`);
  });
}

async function entriesFor(
  values: OptionValues<typeof OPTIONS>,
  server: URL,
  login: LoginArguments,
  parts: KubeconfigParts,
): Promise<KubeconfigEntries> {
  const { command: given = 'stonegate', namespace, tenant, projects, 'ca-file': file } = values;
  const command = given.includes('/') ? resolve(parts.folder, given) : given;
  const name = readName(values.name, server, tenant);
  const ca = file === undefined ? undefined : await readAuthority('--ca-file', file, parts.folder);
  const accesses =
    projects === undefined
      ? [{ name, args: login.args }]
      : accessPerProject(name, await chosenProjects(projects, command, login, parts), login.args);
  // Stonegate takes the prefix of a tenant off each path.
  const address = tenant === undefined ? server.origin : `${server.origin}/tenants/${tenant}`;
  return kubeconfigEntries(
    { name, server: address, ca },
    accesses.map((access) => ({ ...access, namespace })),
    command,
  );
}

/** Imported on demand, since it loads the packages that talk to Keystone. */
async function chosenProjects(
  projects: string,
  command: string,
  { args, values }: LoginArguments,
  parts: KubeconfigParts,
) {
  const { chooseProjects } = await import('./kubeconfig/projects.ts');
  return chooseProjects(readProjects(projects), { command, args, values, ...parts });
}

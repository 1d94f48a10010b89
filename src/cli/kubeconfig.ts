/**
 * `stonegate kubeconfig`: adds a cluster, users and contexts to the user's kubeconfig, with `stonegate
 * login` as credential plugin.
 */
import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { accessPerProject, type KubeconfigEntries, kubeconfigEntries } from '../kubernetes/kubeconfig-v1.ts';
import { type Random, systemRandom } from '../lib/random.ts';
import { type CommandIO, refuseWords, runCommand, UsageError } from './command.ts';
import { readGiven } from './given-file.ts';
import { assertNamesFree, mergeEntries, showEntries } from './kubeconfig/entries.ts';
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
import { LOGIN_OPTIONS } from './login/login-options.ts';

const USAGE = `Usage: stonegate kubeconfig --server URL [OPTIONS] -- LOGIN-OPTIONS

Adds a cluster, a user and a context to your kubeconfig. The user logs in with "stonegate login LOGIN-OPTIONS", which
kubectl runs by itself: no secret is written. Everything else in the file stays as it is.

  --server URL        of Stonegate: https://…
  --ca-file FILE      the authority of its certificate, which is put into the file; without it the system's
  --tenant NAME       of a tenant that a policy lets you into: the context works there, with the rights of a guest
  --name NAME         of letters, digits and dashes, for the cluster and the context; without it the server's host,
                      and the tenant
  --namespace NAME    where the context works, if not in "default"
  --projects LIST     one context for each of these Keystone projects: "all", or names or ids with commas between
  --use               switch to the (first) new context; done anyhow where none is the current one
  --force             replace entries of the same name that stonegate did not create; accept a cloud that is not known here
  --print             only show what would be added or replaced, and nothing else of the file
  --kubeconfig FILE   instead of KUBECONFIG or ~/.kube/config
  --command FILE      what kubectl runs; without it "stonegate", which must be on the PATH
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

const HINTS = new Map(
  Object.keys(LOGIN_OPTIONS).map((name) => [`--${name}`, 'it belongs to the login: put "--" before it']),
);

export interface KubeconfigParts {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The base of relative names. */
  readonly folder: string;
  readonly random: Random;
}

interface EntryOptions {
  readonly server?: string | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly tenant?: string | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly projects?: string | undefined;
  readonly command?: string | undefined;
}

/** @param argv what follows `kubeconfig` */
export function kubeconfig(
  argv: readonly string[],
  io: CommandIO,
  parts: KubeconfigParts = { env: process.env, folder: process.cwd(), random: systemRandom },
): Promise<number> {
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  return runCommand(
    { usage: USAGE, options: OPTIONS, hints: HINTS, argv: own, io },
    async (values, words) => {
      refuseWords(words);
      const login = readLoginArguments(end === -1 ? [] : argv.slice(end + 1), parts);
      if (values.projects !== undefined && login.way !== 'keystone')
        throw new UsageError('--projects is for -- --keystone: others have none');
      const server = readServer(values.server);
      assertLabel('--namespace', values.namespace);
      assertLabel('--tenant', values.tenant);
      const { force = false, use = false, print = false } = values;
      const note = force || login.cloud === undefined ? undefined : await checkCloud(login.cloud, parts);
      if (note !== undefined) io.stderr(`stonegate kubeconfig: ${note}\n`);
      const entries = await entriesFor(values, server, login, parts);
      const names = entries.contexts.map(({ name }) => name);
      const files = kubeconfigFiles(values.kubeconfig, parts.env);
      const file = await fileToChange(files);
      const others = force ? [] : files.filter((other) => other !== file);
      for (const other of others) assertNamesFree(await readKubeconfigFile(other), entries, other);
      const options = { force, use: use ? names[0] : undefined };
      if (print) {
        io.stdout(showEntries(await readKubeconfigFile(file), entries, options, file));
        return;
      }
      await changeFile(file, (text) => mergeEntries(text, entries, options, file), parts.random);
      io.stdout(`${file}: ${names.length === 1 ? 'context' : 'contexts'} ${names.join(', ')}\n`);
    },
  );
}

async function entriesFor(
  values: EntryOptions,
  server: URL,
  { args }: LoginArguments,
  parts: KubeconfigParts,
): Promise<KubeconfigEntries> {
  const { command: given = 'stonegate', namespace, tenant, projects, 'ca-file': file } = values;
  const command = given.includes('/') ? resolve(parts.folder, given) : given;
  const name = readName(values.name, server, tenant);
  const ca = file === undefined ? undefined : await readAuthority(file, parts.folder);
  const accesses =
    projects === undefined
      ? [{ name, args }]
      : accessPerProject(name, await chosenProjects(projects, command, args, parts), args);
  // Stonegate takes the prefix of a tenant off each path.
  const address = tenant === undefined ? server.origin : `${server.origin}/tenants/${tenant}`;
  return kubeconfigEntries(
    { name, server: address, ca },
    accesses.map((access) => ({ ...access, namespace })),
    command,
  );
}

async function chosenProjects(
  projects: string,
  command: string,
  args: readonly string[],
  { env, folder }: KubeconfigParts,
) {
  const { chooseProjects } = await import('./kubeconfig/projects.ts');
  return chooseProjects(readProjects(projects), { command, args, env, folder });
}

async function readAuthority(file: string, folder: string): Promise<string> {
  const pem = await readGiven('--ca-file', file, folder);
  // Reported here, and not by kubectl at its first request.
  if (!pem.includes('-----BEGIN CERTIFICATE-----') || !canParse(pem))
    throw new Error(`--ca-file: ${file} holds no certificate`);
  return pem;
}

function canParse(pem: string): boolean {
  try {
    return new X509Certificate(pem).fingerprint256 !== '';
  } catch {
    return false;
  }
}

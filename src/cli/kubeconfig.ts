/**
 * `stonegate kubeconfig`: adds a cluster, users and contexts to the user's kubeconfig, with `stonegate
 * login` as credential plugin.
 */
import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { type Random, systemRandom } from '../lib/random.ts';
import { type CommandIO, EXIT, refuseWords, runCommand, UsageError } from './command.ts';
import { readGiven } from './given-file.ts';
import {
  type Access,
  assertNamesFree,
  entriesOf,
  mergeEntries,
  nameOf,
  showEntries,
} from './kubeconfig/entries.ts';
import { changeFile, fileToChange, kubeconfigFiles, readIfThere } from './kubeconfig/file.ts';
import {
  checkCloud,
  type LoginArguments,
  optionOf,
  readLoginArguments,
  readName,
  readNamespace,
  readProjects,
  readServer,
  readTenant,
} from './kubeconfig/options.ts';
import { keystoneFlags } from './login/keystone-source.ts';
import { oidcFlags } from './login/oidc-source.ts';
import { loginFlags } from './login.ts';

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

const LOGIN_OPTIONS = { ...loginFlags, ...keystoneFlags, ...oidcFlags };
const OF_LOGIN = namesIn(LOGIN_OPTIONS, OPTIONS);
const OURS_ALONE = namesIn(OPTIONS, LOGIN_OPTIONS);

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
  const end = argv.findIndex((word) => word === '--' || isOfLogin(word));
  const own = end === -1 ? argv : argv.slice(0, end);
  return runCommand({ usage: USAGE, options: OPTIONS, argv: own, io }, async (values, words) => {
    const next = argv[end] ?? '--';
    if (next !== '--') throw new UsageError(`${optionOf(next)} belongs to the login: put "--" before it`);
    refuseWords(words);
    const behind = end === -1 ? [] : argv.slice(end + 1);
    const misplaced = behind.find((word) => OURS_ALONE.has(optionOf(word)));
    if (misplaced !== undefined) throw new UsageError(`${optionOf(misplaced)} belongs before the "--"`);
    const login = readLoginArguments(behind, parts);
    if (values.projects !== undefined && login.way !== 'keystone')
      throw new UsageError('--projects is for -- --keystone: others have none');
    const server = readServer(values.server);
    const namespace = readNamespace(values.namespace);
    const tenant = readTenant(values.tenant);
    try {
      const { force = false, use = false, print = false } = values;
      const note = force || login.cloud === undefined ? undefined : await checkCloud(login.cloud, parts);
      if (note !== undefined) io.stderr(`stonegate kubeconfig: ${note}\n`);
      const entries = await entriesFor({ ...values, namespace, tenant }, server, login, parts);
      const names = entries.contexts.map(({ name }) => name);
      const files = kubeconfigFiles(values.kubeconfig, parts.env);
      const file = await fileToChange(files);
      const others = force ? [] : files.filter((other) => other !== file);
      for (const other of others) assertNamesFree(await readIfThere(other), entries, other);
      const options = { force, use: use ? names[0] : undefined };
      if (print) {
        io.stdout(showEntries(await readIfThere(file), entries, options, file));
        return EXIT.fine;
      }
      await changeFile(file, (text) => mergeEntries(text, entries, options, file), parts.random);
      io.stdout(`${file}: ${names.length === 1 ? 'context' : 'contexts'} ${names.join(', ')}\n`);
      return EXIT.fine;
    } catch (error) {
      if (!(error instanceof Error) || error instanceof UsageError) throw error;
      io.stderr(`stonegate kubeconfig: ${error.message}\n`);
      return EXIT.failed;
    }
  });
}

function isOfLogin(word: string): boolean {
  return OF_LOGIN.has(optionOf(word));
}

/** Options as typed, without those that `others` has too. */
function namesIn(options: object, others: object): ReadonlySet<string> {
  const names = Object.keys(options).filter((name) => !Object.hasOwn(others, name));
  return new Set(names.map((name) => `--${name}`));
}

async function entriesFor(values: EntryOptions, server: URL, login: LoginArguments, parts: KubeconfigParts) {
  const { command: given = 'stonegate', namespace, tenant } = values;
  const command = given.includes('/') ? resolve(parts.folder, given) : given;
  const name = readName(values.name, server, tenant);
  const file = values['ca-file'];
  const ca = file === undefined ? undefined : await readAuthority(file, parts.folder);
  const cluster = { name, server: addressOf(server, tenant), ca };
  const { args } = login;
  const accesses: readonly Access[] =
    values.projects === undefined
      ? [{ name, args, namespace }]
      : await accessPerProject(values.projects, { name, args, namespace }, command, parts);
  return entriesOf(cluster, accesses, command);
}

/** Stonegate takes the prefix off each path. */
function addressOf({ origin }: URL, tenant: string | undefined): string {
  return tenant === undefined ? origin : `${origin}/tenants/${tenant}`;
}

async function accessPerProject(
  projects: string,
  { name, args, namespace }: Access,
  command: string,
  { env, folder }: KubeconfigParts,
): Promise<readonly Access[]> {
  const { chooseProjects } = await import('./kubeconfig/projects.ts');
  const wanted = readProjects(projects);
  const taken = new Set<string>();
  return (await chooseProjects(wanted, { command, args, env, folder })).map((project) => {
    const plain = nameOf(project.name);
    const full = `${name}-${plain}`;
    const own = plain === '' || taken.has(full) ? `${name}-${nameOf(plain, project.id)}` : full;
    taken.add(own);
    return { name: own, args: [...args, '--os-project-id', project.id], namespace };
  });
}

async function readAuthority(file: string, folder: string): Promise<string> {
  const pem = await readGiven({ option: '--ca-file', file }, folder);
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

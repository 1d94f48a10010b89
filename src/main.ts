#!/usr/bin/env node
/**
 * The `stonegate` command: runs the named command. Each command is imported when it is needed, as kubectl
 * runs `stonegate login` on every call and should not load the server's packages.
 */
import type { CommandIO } from './cli/command.ts';
import { nodeProblem, version } from './cli/version.ts';

const USAGE = `Usage: stonegate COMMAND [OPTIONS]

  serve        serve a Kubernetes API behind Keystone and OIDC identities
  check        validate a configuration
  manifests    print what the API server must be given
  cache        drop what is cached of a user or a tenant
  login        log in and print a credential for kubectl, which runs it by itself
  logout       forget cached tokens, and end them at the provider
  kubeconfig   put a Stonegate into your kubeconfig
  whoami       say who you are to Stonegate
  access       say what you may do
  explain      say what would become of a request, and why
  who-can      list who may do something in the cluster
  publish      copy published objects into tenants
  sync         make namespaces and rolebindings of Keystone's projects and roles

  version      print the version; also: --version
  help         print this text, or a command's own: stonegate help [COMMAND]
`;

type Command = (argv: readonly string[], io: CommandIO) => Promise<number>;

const COMMANDS = new Map<string, () => Promise<Command>>([
  ['serve', async () => (await import('./app/commands/serve.ts')).serve],
  ['check', async () => (await import('./app/commands/check.ts')).check],
  ['manifests', async () => (await import('./cli/manifests.ts')).manifests],
  ['cache', async () => (await import('./app/commands/cache-drop.ts')).cacheDrop],
  ['login', async () => (await import('./cli/login.ts')).login],
  ['logout', async () => (await import('./cli/logout.ts')).logout],
  ['kubeconfig', async () => (await import('./cli/kubeconfig.ts')).kubeconfig],
  ['whoami', async () => (await import('./cli/whoami.ts')).whoami],
  ['access', async () => (await import('./cli/access.ts')).access],
  ['explain', async () => (await import('./app/commands/explain.ts')).explainCommand],
  ['who-can', async () => (await import('./cli/who-can.ts')).whoCan],
  ['publish', async () => (await import('./app/commands/publish.ts')).publish],
  ['sync', async () => (await import('./app/commands/sync.ts')).sync],
]);

async function main([name = 'help', ...argv]: readonly string[], io: CommandIO): Promise<number> {
  const [command] = argv;
  if (name === 'help' && command !== undefined) return run(command, ['--help'], io);
  const asksVersion = name === '--version' || name === 'version';
  if (!asksVersion && !['--help', '-h', 'help'].includes(name)) return run(name, argv, io);
  io.stdout(asksVersion ? `${await version()}\n` : USAGE);
  return 0;
}

async function run(name: string, argv: readonly string[], io: CommandIO): Promise<number> {
  const load = COMMANDS.get(name);
  if (load === undefined) {
    const { didYouMean } = await import('./lib/did-you-mean.ts');
    const meant = didYouMean(name, COMMANDS.keys());
    io.stderr(`stonegate: unknown command ${JSON.stringify(name)}${meant}\nSee: stonegate --help\n`);
    return 2;
  }
  const problem = nodeProblem(process.versions.node);
  if (problem === undefined) return (await load())(argv, io);
  io.stderr(`${problem}\n`);
  return 1;
}

process.exitCode = await main(process.argv.slice(2), {
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
});

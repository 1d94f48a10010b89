/**
 * The commands of users, which need no configuration of Stonegate's. They are also bundled into one file, the
 * client, which the portal serves and which must not contain the server.
 */
import { type CommandIO, type Commands, UsageError } from './command.ts';
import { runProgram } from './program.ts';

const ELSEWHERE = "is in the operator's stonegate, the npm package or the image";

export const USER_COMMANDS = {
  login: {
    does: 'log in and print a credential for kubectl, which runs it by itself',
    load: async () => (await import('./login.ts')).login,
  },
  logout: {
    does: 'forget cached tokens, and end them at the provider',
    load: async () => (await import('./logout.ts')).logout,
  },
  kubeconfig: {
    does: 'put a Stonegate into your kubeconfig',
    load: async () => (await import('./kubeconfig.ts')).kubeconfig,
  },
  whoami: {
    does: 'say who you are to Stonegate',
    load: async () => (await import('./whoami.ts')).whoami,
  },
  access: {
    does: 'say what you may do',
    load: async () => (await import('./access.ts')).access,
  },
  quota: {
    does: 'say what your tenant may use, and what it uses',
    load: async () => (await import('./quota.ts')).quota,
  },
  members: {
    does: 'list and change who has which role in a namespace',
    load: async () => (await import('./members.ts')).members,
  },
  invite: {
    does: 'invite to a namespace or a team, and accept an invitation',
    load: async () => (await import('./invite.ts')).invite,
  },
  token: {
    does: 'create and end access tokens, which may do less than you',
    load: async () => (await import('./token.ts')).token,
  },
  teams: {
    does: 'list, create and change the teams of your tenant',
    load: async () => (await import('./teams.ts')).teams,
  },
  explain: {
    does: 'say what would become of a request, and why',
    load: async () => {
      const { explain } = await import('./explain.ts');
      return (argv, io) =>
        explain(argv, io, () => {
          throw new UsageError(`this is the client: --config ${ELSEWHERE}`);
        });
    },
  },
  'who-can': {
    does: 'list who may do something in the cluster',
    load: async () => (await import('./who-can.ts')).whoCan,
  },
} satisfies Commands;

/**
 * The client.
 *
 * @param operatorCommands the names of commands that only the operator's program has
 * @returns the exit code
 */
export function runClient(
  version: string,
  operatorCommands: readonly string[],
  argv: readonly string[],
  io: CommandIO,
): Promise<number> {
  const elsewhere = (name: string) =>
    operatorCommands.includes(name) ? `this is the client: "${name}" ${ELSEWHERE}` : undefined;
  return runProgram({ commands: USER_COMMANDS, version: () => version, elsewhere }, argv, io);
}

/**
 * `stonegate token`: the user's access tokens. A secret is alone on standard output, so that a script can
 * keep it without looking at it.
 */
import {
  OWN_ACCESS_TOKENS,
  OWN_ROTATIONS,
  type ShownToken,
  scopesOf,
} from '../features/tokens/access-token-v1alpha1.ts';
import { createAskingCommand } from './asking-command.ts';
import {
  type CommandIO,
  columns,
  createCommand,
  EXIT,
  type Note,
  refuseWords,
  UsageError,
  VALUE,
  VALUES,
} from './command.ts';
import { DESTINATION_OPTIONS, DESTINATION_USAGE, type Destination, destinationOf } from './destination.ts';
import { makeToken, secondsIn, secretIn } from './make-token.ts';
import { createOwnObjectClient } from './own-object-client.ts';
import { StonegateAPIError } from './stonegate-api.ts';

const USAGE = `Usage: stonegate token create --scope SCOPE… [--rules FILE] --expires 30d
                              [--description TEXT]
       stonegate token list [-o table|json|yaml]
       stonegate token rotate ID [--overlap 10m]
       stonegate token revoke ID…

An access token is a credential of yours with less than your rights. create and
rotate print its secret, this once, and nothing else on standard output.

  --scope SCOPE              as often as needed: read, userinfo, session,
                             tenant/LEVEL or namespace/NAME/LEVEL, where LEVEL
                             is read, control, edit or manage; and for what
                             escalates +secrets, +exec, +rbac, +impersonate,
                             +tokens
  --rules FILE               further rights: a list of rules as in a Role, each
                             with its namespaces
  --expires TIME             12h, 30d: the longest depends on the scopes
  --description TEXT         what the token is for
  --overlap TIME             for how long the present secret stays valid; 10m
                             without it

Each of these takes:
${DESTINATION_USAGE}
Exit codes: 0 fine, 1 not logged in, not reached or refused, 2 wrong usage.
`;

const { output: _output, ...ASKING } = DESTINATION_OPTIONS;

const ACTIONS = {
  create: createCommand(
    {
      usage: USAGE,
      options: {
        ...ASKING,
        scope: VALUES,
        rules: VALUE,
        expires: VALUE,
        description: VALUE,
      },
    },
    async ({ values, note, io }, env: NodeJS.ProcessEnv = process.env) => {
      const request = { ...values, scopes: values.scope };
      io.stdout(`${await makeToken(await destinationOf(values, env), request, note)}\n`);
    },
  ),
  list: createAskingCommand({ usage: USAGE, options: {} }, async ({ destination, print, io }) => {
    const list = await tokensAt(await destination()).list();
    await print(list, () => tableOf(list.items, io.width));
  }),
  rotate: createCommand(
    { usage: USAGE, options: { ...ASKING, overlap: VALUE }, words: [] },
    async ({ values: { overlap, ...values }, words, note, io }, env: NodeJS.ProcessEnv = process.env) => {
      const [name, ...more] = words;
      if (name === undefined) throw new UsageError('which token? Its ID is in stonegate token list');
      refuseWords(more);
      refuseSecret(name);
      const spec = { name, overlapSeconds: overlap && secondsIn('--overlap', overlap) };
      const rotations = createOwnObjectClient<ShownToken>(await destinationOf(values, env), OWN_ROTATIONS);
      io.stdout(`${secretIn(await rotations.create(spec), note)}\n`);
    },
  ),
  revoke: createCommand(
    { usage: USAGE, options: ASKING, words: [] },
    async ({ values, words: names, note, io }, env: NodeJS.ProcessEnv = process.env) => {
      if (names.length === 0) throw new UsageError('which tokens? Their IDs are in stonegate token list');
      names.forEach(refuseSecret);
      const destination = await destinationOf(values, env);
      let code: number = EXIT.fine;
      for (const name of names)
        if (await revoke(destination, name, note)) io.stdout(`${name} revoked\n`);
        else code = EXIT.failed;
      return code;
    },
  ),
};

const withoutAction = createCommand(
  { usage: USAGE, options: ASKING, words: Object.keys(ACTIONS) },
  async () => {
    throw new UsageError('expected: token create, token list, token rotate, or token revoke');
  },
);

/** @param argv what follows `token` */
export function token(argv: readonly string[], io: CommandIO, env = process.env): Promise<number> {
  const [name, ...rest] = argv;
  const [, action] = Object.entries(ACTIONS).find(([known]) => known === name) ?? [];
  return action === undefined ? withoutAction(argv, io) : action(rest, io, env);
}

function tokensAt(destination: Destination) {
  return createOwnObjectClient<ShownToken>(destination, OWN_ACCESS_TOKENS);
}

/** @throws UsageError for the token itself, which the server must not find in the path of a request */
function refuseSecret(name: string): void {
  const [, id] = /^sgt_([0-9a-z]{8})/i.exec(name) ?? [];
  if (id !== undefined)
    throw new UsageError(`that is the token itself, a secret; its ID is ${id.toLowerCase()}`);
  if (/^sgt_/i.test(name))
    throw new UsageError('an ID is what follows sgt_, 8 letters and digits: see stonegate token list');
}

/** A token that cannot be revoked becomes a note: it must not keep the next ones valid. */
async function revoke(destination: Destination, name: string, note: Note): Promise<boolean> {
  try {
    await tokensAt(destination).remove(name);
    return true;
  } catch (error) {
    if (!(error instanceof StonegateAPIError)) throw error;
    note(error.message, error);
    return false;
  }
}

function tableOf(listed: readonly ShownToken[], width: number | undefined): string {
  const lines = listed.map(({ metadata, spec, status }) => [
    metadata.name,
    scopesOf({ spec }),
    status.state,
    status.expirationTimestamp,
    status.lastUsedTimestamp ?? 'never',
    spec.description ?? '',
    status.reason ?? '',
  ]);
  return columns(
    [['ID', 'SCOPES', 'STATE', 'EXPIRES', 'LAST USED', 'DESCRIPTION', 'REASON'], ...lines],
    width,
  );
}

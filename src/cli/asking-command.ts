/**
 * A command that asks a running Stonegate: by the options that say which one and with which credential. What
 * it prints is a table, or the object that the table is made of.
 */
import { type CommandIO, type Note, type Options, type OptionValues, print, runCommand } from './command.ts';
import { DESTINATION_OPTIONS, type Destination, destinationOf } from './destination.ts';
import { askFor } from './stonegate-api.ts';

export interface Asking<Declared extends Options> {
  readonly values: OptionValues<Declared & typeof DESTINATION_OPTIONS>;
  readonly words: readonly string[];
  readonly note: Note;
  /** The user may have to log in for it: a mistake on the command line is reported before. */
  destination(): Promise<Destination>;
  /** Asks for an object of Stonegate's own API; see `askFor`. */
  ask<Answer extends object>(path: string, body?: object, method?: 'POST' | 'PUT'): Promise<Answer>;
  print(value: object, table: () => string): Promise<void>;
}

/** @param command its `options` are those that it has besides `DESTINATION_OPTIONS` */
export function askingCommand<const Declared extends Options>(
  {
    options,
    ...command
  }: {
    readonly usage: string;
    readonly options: Declared;
    readonly words?: readonly string[];
  },
  run: (asking: Asking<Declared>) => Promise<void>,
): (argv: readonly string[], io: CommandIO, env?: NodeJS.ProcessEnv) => Promise<number> {
  const all = { ...options, ...DESTINATION_OPTIONS };
  return (argv, io, env = process.env) =>
    runCommand({ ...command, options: all, argv, io }, async (values, words, note) => {
      const { output }: OptionValues<typeof DESTINATION_OPTIONS> = values;
      let known: Promise<Destination> | undefined;
      const destination = () => (known ??= destinationOf(values, env));
      await run({
        ...{ values, words, note, destination },
        ask: async (...request) => askFor(await destination(), ...request),
        print: (value, table) => print(value, output, table, io.stdout),
      });
      return undefined;
    });
}

/**
 * Declares a command that asks a running Stonegate: its options say which one, and with which credential. It
 * prints a table, or the object from which the table is made.
 */
import {
  type Call,
  type CommandOptions,
  createCommand,
  type Options,
  type OptionValues,
  print,
} from './command.ts';
import { DESTINATION_OPTIONS, type Destination, destinationOf } from './destination.ts';
import { askFor } from './stonegate-api.ts';

interface AskingCall<Declared extends Options> extends Call<Declared & typeof DESTINATION_OPTIONS> {
  /** May make the user log in, so a command first reports mistakes in its arguments. */
  destination(): Promise<Destination>;
  /** Reads an object of Stonegate's own API; see `askFor`. */
  ask<Answer extends object>(path: string): Promise<Answer>;
  print(value: object, table: () => string): Promise<void>;
}

/** @param options of the command besides `DESTINATION_OPTIONS` */
export function createAskingCommand<const Declared extends Options>(
  { options, ...others }: CommandOptions<Declared>,
  run: (call: AskingCall<Declared>) => Promise<void>,
) {
  const all = { ...options, ...DESTINATION_OPTIONS };
  return createCommand({ ...others, options: all }, async (call, env: NodeJS.ProcessEnv = process.env) => {
    const { output }: OptionValues<typeof DESTINATION_OPTIONS> = call.values;
    let known: Promise<Destination> | undefined;
    const destination = () => (known ??= destinationOf(call.values, env));
    await run({
      ...call,
      destination,
      ask: async (path) => askFor(await destination(), path),
      print: (value, table) => print(value, output, table, call.io.stdout),
    });
  });
}

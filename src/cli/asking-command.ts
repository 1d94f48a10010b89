/**
 * A command that asks a running Stonegate: by the options that say which one and with which credential. What
 * it prints is a table, or the object that the table is made of.
 */
import {
  type Call,
  type CommandOptions,
  command,
  type Options,
  type OptionValues,
  print,
} from './command.ts';
import { DESTINATION_OPTIONS, type Destination, destinationOf } from './destination.ts';
import { askFor } from './stonegate-api.ts';

interface Asking<Declared extends Options> extends Call<Declared & typeof DESTINATION_OPTIONS> {
  /** The user may have to log in for it: a mistake on the command line is reported before. */
  destination(): Promise<Destination>;
  /** Reads an object of Stonegate's own API; see `askFor`. */
  ask<Answer extends object>(path: string): Promise<Answer>;
  print(value: object, table: () => string): Promise<void>;
}

/** @param options of the command besides `DESTINATION_OPTIONS` */
export function askingCommand<const Declared extends Options>(
  { options, ...others }: CommandOptions<Declared>,
  run: (asking: Asking<Declared>) => Promise<void>,
) {
  const all = { ...options, ...DESTINATION_OPTIONS };
  return command({ ...others, options: all }, async (call, env: NodeJS.ProcessEnv = process.env) => {
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

/**
 * The parts of timestamps and durations.
 * https://github.com/google/cel-spec/blob/master/doc/langdef.md#timestamps
 */
import type { Declarations, Functions, Run } from './declarations.ts';
import { noSuchOverload } from './errors.ts';
import { clockOf, secondsOf } from './times.ts';
import { Duration, Timestamp, type Value } from './values.ts';

export function declareTimes(declarations: Declarations): void {
  declarations.add(TIMES);
}

function one(run: (value: Value) => Value): Run {
  return ([value = null], budget) => {
    budget.spend(1);
    return run(value);
  };
}

function duration(value: Value): Duration {
  if (value instanceof Duration) return value;
  throw noSuchOverload('a function of durations');
}

function timestamp(value: Value): Timestamp {
  if (value instanceof Timestamp) return value;
  throw noSuchOverload('a function of timestamps');
}

const CLOCK: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDayOfYear: (date) => {
    const first = new Date(0);
    first.setUTCFullYear(date.getUTCFullYear(), 0, 1);
    return Math.floor((date.getTime() - first.getTime()) / 86_400_000);
  },
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDate: (date) => date.getUTCDate(),
  getDayOfWeek: (date) => date.getUTCDay(),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

function clockFunctions(name: string, read: (date: Date) => number): [string, Run][] {
  const run: Run = ([value = null, zone], budget) => {
    budget.spend(1);
    return BigInt(read(clockOf(timestamp(value), zone === undefined ? undefined : String(zone))));
  };
  return [
    [`timestamp.${name}(): int`, run],
    [`timestamp.${name}(string): int`, run],
  ];
}

const TIMES: Functions = {
  ...Object.fromEntries(Object.entries(CLOCK).flatMap(([name, read]) => clockFunctions(name, read))),
  'duration.getHours(): int': one((value) => whole(secondsOf(duration(value).nanoseconds) / 3_600)),
  'duration.getMinutes(): int': one((value) => whole(secondsOf(duration(value).nanoseconds) / 60)),
  'duration.getSeconds(): int': one((value) => whole(secondsOf(duration(value).nanoseconds))),
  'duration.getMilliseconds(): int': one((value) => duration(value).nanoseconds / 1_000_000n),
};

function whole(value: number): bigint {
  return BigInt(Math.trunc(value));
}

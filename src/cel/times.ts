/**
 * Timestamps and durations as Go reads and writes them.
 * https://pkg.go.dev/time#ParseDuration; RFC 3339
 */
import { EvaluationFault } from './errors.ts';
import { checkedInt, formatPlain } from './numbers.ts';
import { Duration, Timestamp } from './values.ts';

const SECOND = 1_000_000_000n;
const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: SECOND,
  m: 60n * SECOND,
  h: 3_600n * SECOND,
};
const PART = /([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/y;
const RFC3339 =
  /^([0-9-]{10})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/;
/** 0001-01-01 to 9999-12-31. */
const FIRST = -62_135_596_800n;
const LAST = 253_402_300_799n;

/** @returns undefined for what is none */
export function parseDuration(text: string): Duration | undefined {
  const [, sign = '', rest = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (rest === '0') return new Duration(0n);
  let total = 0n;
  let at = 0;
  while (at < rest.length) {
    PART.lastIndex = at;
    const [, whole = '', fraction = '', unit = ''] = PART.exec(rest) ?? [];
    const scale = UNITS[unit];
    if (scale === undefined || whole + fraction === '') return undefined;
    total += BigInt(whole === '' ? '0' : whole) * scale;
    if (fraction !== '') total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    at = PART.lastIndex;
  }
  const value = sign === '-' ? -total : total;
  return rest === '' || value > 2n ** 63n - 1n || value < -(2n ** 63n) ? undefined : new Duration(value);
}

export function formatDuration({ nanoseconds }: Duration): string {
  return `${formatPlain(secondsOf(nanoseconds))}s`;
}

export function secondsOf(nanoseconds: bigint): number {
  return Number(nanoseconds / SECOND) + Number(nanoseconds % SECOND) / 1e9;
}

/** @returns milliseconds since the epoch, at midnight; undefined for what is no date */
export function parseDate(text: string): number | undefined {
  const [, year, month, day] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text) ?? [];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
    ? date.getTime()
    : undefined;
}

/** @returns undefined for what is none */
export function parseTimestamp(text: string): Timestamp | undefined {
  const found = RFC3339.exec(text);
  if (found === null) return undefined;
  const [hour = 0, minute = 0, second = 0] = found.slice(2, 5).map(Number);
  const [fraction = '', sign, hours = '0', minutes = '0'] = found.slice(5);
  const midnight = parseDate(found[1] ?? '');
  if (midnight === undefined) return undefined;
  if (hour > 23 || minute > 59 || second > 59 || Number(hours) > 24 || Number(minutes) > 60) return undefined;
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 3_600 + Number(minutes) * 60);
  const seconds = BigInt(midnight / 1_000 + hour * 3_600 + minute * 60 + second - offset);
  if (seconds < FIRST || seconds > LAST) return undefined;
  return new Timestamp(seconds * SECOND + BigInt(fraction.slice(0, 9).padEnd(9, '0')), offset);
}

/** @throws EvaluationFault for a time that CEL does not have */
export function timestampOf(seconds: bigint): Timestamp {
  if (seconds < FIRST || seconds > LAST) throw new EvaluationFault('timestamp overflow');
  return new Timestamp(seconds * SECOND);
}

export function formatTimestamp({ nanoseconds, offset }: Timestamp): string {
  const local = new Date(Number(floorDiv(nanoseconds, SECOND)) * 1_000 + offset * 1_000);
  const fraction = String(nanoseconds - floorDiv(nanoseconds, SECOND) * SECOND)
    .padStart(9, '0')
    .replace(/0+$/, '');
  const year = String(local.getUTCFullYear()).padStart(4, '0');
  const rest = local.toISOString().replace(/^.*?(-\d\d-\d\dT\d\d:\d\d:\d\d).*$/, '$1');
  return `${year}${rest}${fraction === '' ? '' : `.${fraction}`}${zoneText(offset)}`;
}

function zoneText(offset: number): string {
  if (offset === 0) return 'Z';
  const minutes = Math.trunc(Math.abs(offset) / 60);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${two(Math.trunc(minutes / 60))}:${two(minutes % 60)}`;
}

export function unixSeconds({ nanoseconds }: Timestamp): bigint {
  return floorDiv(nanoseconds, SECOND);
}

function floorDiv(a: bigint, b: bigint): bigint {
  return a / b - (a % b < 0n ? 1n : 0n);
}

/** @throws EvaluationFault for a time that CEL does not have */
export function shifted({ nanoseconds, offset }: Timestamp, by: bigint): Timestamp {
  const value = nanoseconds + by;
  const seconds = floorDiv(value, SECOND);
  if (seconds < FIRST || seconds > LAST) throw new EvaluationFault('timestamp overflow');
  return new Timestamp(value, offset);
}

export function durationBetween(a: Timestamp, b: Timestamp): Duration {
  return new Duration(checkedInt(a.nanoseconds - b.nanoseconds));
}

/** The fields of a clock in a zone, as a date whose UTC fields they are. */
export function clockOf(timestamp: Timestamp, zone: string | undefined): Date {
  const milliseconds = Number(floorDiv(timestamp.nanoseconds, 1_000_000n));
  return new Date(milliseconds + offsetOf(milliseconds, zone) * 1_000);
}

/** @throws EvaluationFault for a zone that is none */
function offsetOf(milliseconds: number, zone: string | undefined): number {
  if (zone === undefined || zone === '' || zone === 'UTC') return 0;
  const colon = zone.indexOf(':');
  if (colon >= 0) {
    const [hours, minutes] = [zone.slice(0, colon), zone.slice(colon + 1)];
    if (!/^[+-]?[0-9]+$/.test(hours) || !/^[+-]?[0-9]+$/.test(minutes))
      throw new EvaluationFault('unknown time zone');
    return (Number(hours) * 60 + (zone.startsWith('-') ? -1 : 1) * Number(minutes)) * 60;
  }
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    const name = format.formatToParts(milliseconds).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign = '+', hours = '0', minutes = '0', seconds = '0'] =
      /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?/.exec(name) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds));
  } catch (error) {
    if (error instanceof RangeError) throw new EvaluationFault('unknown time zone');
    throw error;
  }
}

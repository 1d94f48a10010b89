/**
 * Numbers as Go writes and reads them: kube-apiserver makes names of them in no other way.
 * https://pkg.go.dev/strconv
 */
import { EvaluationFault } from './errors.ts';

export const MAX_INT = 2n ** 63n - 1n;
export const MIN_INT = -(2n ** 63n);
const MAX_UINT = 2n ** 64n - 1n;

/** `%g`: 12345678 is 1.2345678e+07. */
export function formatDouble(value: number): string {
  const special = specialNumber(value);
  if (special !== undefined) return special;
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return formatPlain(value);
  return `${digits}e${exponentText(power)}`;
}

/** `%f` with as many digits as there are. */
export function formatPlain(value: number): string {
  const special = specialNumber(value);
  if (special !== undefined) return special;
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [mantissa = '', exponent = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const point = Number(exponent) + 1;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`.replace(/^(-?)0\.0+$/, '$10');
  if (digits.length <= point) return `${sign}${digits}${'0'.repeat(point - digits.length)}`;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** `%.*e` */
export function formatScientific(value: number, precision: number): string {
  const special = specialNumber(value);
  if (special !== undefined) return special;
  const [digits = '', exponent = '0'] = value.toExponential(precision).split('e');
  return `${Object.is(value, -0) ? '-' : ''}${digits}e${exponentText(Number(exponent))}`;
}

/** `+Inf`, `NaN`, … */
export function specialNumber(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return undefined;
  return value > 0 ? '+Inf' : '-Inf';
}

function exponentText(power: number): string {
  return `${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

export function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ''));
  return value > MAX_INT || value < MIN_INT ? undefined : value;
}

export function parseUint64(text: string): bigint | undefined {
  if (!/^[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value > MAX_UINT ? undefined : value;
}

const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const HEXADECIMAL = /^([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?[0-9]+)$/;

export function parseDouble(given: string): number | undefined {
  const text = withoutSeparators(given);
  const [, sign = '', word = ''] = /^([+-]?)(inf|infinity|nan)$/i.exec(text) ?? [];
  if (word !== '') {
    if (/^n/i.test(word)) return sign === '' ? Number.NaN : undefined;
    return sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  const value = DECIMAL.test(text) ? Number(text) : parseHexadecimal(text);
  return value === undefined || !Number.isFinite(value) ? undefined : value;
}

/** Underscores between digits, and one after `0x`. */
function withoutSeparators(text: string): string {
  const digits = /^[+-]?0x/i.test(text) ? /(?<=[0-9a-fx])_(?=[0-9a-f])/gi : /(?<=[0-9])_(?=[0-9])/g;
  return text.replace(digits, '');
}

function parseHexadecimal(text: string): number | undefined {
  const [, sign = '', whole = '', fraction = '', power = '0'] = HEXADECIMAL.exec(text) ?? [];
  if (whole + fraction === '') return undefined;
  const digits = Number(BigInt(`0x${whole}${fraction}`));
  const exponent = Number(power) - 4 * fraction.length;
  // In two steps: a power that is no double may still give one.
  const half = Math.trunc(exponent / 2);
  return (sign === '-' ? -1 : 1) * digits * 2 ** half * 2 ** (exponent - half);
}

/** @throws EvaluationFault for what no int64 can be */
export function checkedInt(value: bigint): bigint {
  if (value > MAX_INT || value < MIN_INT) throw new EvaluationFault('integer overflow');
  return value;
}

/** @throws EvaluationFault for what no uint64 can be */
export function checkedUint(value: bigint): bigint {
  if (value > MAX_UINT || value < 0n) throw new EvaluationFault('unsigned integer overflow');
  return value;
}

/** @throws EvaluationFault out of range */
export function intOfDouble(value: number): bigint {
  if (!Number.isFinite(value) || value <= Number(MIN_INT) || value >= Number(MAX_INT))
    throw new EvaluationFault('integer overflow');
  return BigInt(Math.trunc(value));
}

/** @throws EvaluationFault out of range */
export function uintOfDouble(value: number): bigint {
  if (!Number.isFinite(value) || value < 0 || value >= Number(MAX_UINT))
    throw new EvaluationFault('unsigned integer overflow');
  return BigInt(Math.trunc(value));
}

/**
 * Quantities such as `1.5Gi`, as Kubernetes' library reads them.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library
 */
import type { Declarations, Functions, Run } from './declarations.ts';
import { EvaluationFault, noSuchOverload } from './errors.ts';
import { MAX_INT, MIN_INT, parseInt64 } from './numbers.ts';
import { Opaque, type Value } from './values.ts';

export function declareQuantities(declarations: Declarations): void {
  declarations.add(QUANTITIES);
}

const TYPE = 'kubernetes.Quantity';
/** Powers of 1000, from 10^-9; and of 1024, from 2^10. */
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const QUANTITY = /^([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]+)$/;
/** Nothing smaller than 10^-9 is counted. */
const NANO = -9;

/** `digits × 10^exponent`. */
interface Quantity {
  readonly digits: bigint;
  readonly exponent: number;
  /**
   * Kubernetes' library has an int64 and a scale. What does not fit, such as `1.5Gi`, has a form without
   * bounds, which is no integer to it whatever its value.
   */
  readonly isShort: boolean;
}

/** @returns undefined for what is no quantity */
function parse(text: string): Quantity | undefined {
  const [matched, sign, zeros = '', whole = '', fraction = '', suffix = ''] = QUANTITY.exec(text) ?? [];
  const written = (whole || '0') + fraction;
  const bits = Math.max(BINARY.indexOf(suffix), 0) * 10;
  const power = bits > 0 ? 0n : powerOf(suffix);
  if (matched === undefined || text === '' || power === undefined) return undefined;
  const exponent = Number(BigInt.asIntN(32, power)) - fraction.length;
  const isShort =
    bits > 0
      ? fraction === '' && written.length <= 14 - (3 * bits) / 10
      : written.length <= 18 && exponent >= NANO;
  if (!isShort && zeros + whole + fraction === '') return undefined;
  const digits = BigInt((sign === '-' ? '-' : '') + written) << BigInt(bits);
  if (isShort || digits === 0n) return { digits, exponent, isShort };
  const nanos = inNanos(digits, exponent, written.length + bits);
  const most = MAX_INT * 10n ** 9n;
  return bits > 0 && (nanos > most || nanos < -most)
    ? { digits: nanos < 0n ? -MAX_INT : MAX_INT, exponent: 0, isShort }
    : { digits: nanos, exponent: NANO, isShort };
}

function powerOf(suffix: string): bigint | undefined {
  const index = DECIMAL.indexOf(suffix);
  return index < 0 ? parseInt64(suffix.slice(1)) : BigInt(3 * index + NANO);
}

/**
 * Rounded away from zero.
 *
 * @param length at least the number of digits that could be left out
 */
function inNanos(digits: bigint, exponent: number, length: number): bigint {
  if (exponent >= NANO) return digits * powerOf10(exponent - NANO);
  const divisor = 10n ** BigInt(Math.min(NANO - exponent, length));
  const most = digits < 0n ? 1n - divisor : divisor - 1n;
  return (digits + most) / divisor;
}

/** @throws EvaluationFault for more than any use of a quantity: it would take time and memory */
function powerOf10(exponent: number): bigint {
  if (exponent > 1_000) throw new EvaluationFault('a quantity is too large');
  return 10n ** BigInt(exponent);
}

function made(quantity: Quantity): Opaque {
  const { digits, exponent } = quantity;
  const nanos = digits === 0n ? 0n : inNanos(digits, exponent, NANO - exponent);
  return new Opaque(TYPE, String(nanos), quantity);
}

function isQuantity(data: unknown): data is Quantity {
  return typeof data === 'object' && data !== null && 'isShort' in data;
}

function quantityOf(value: Value | undefined): Quantity {
  if (typeof value === 'bigint') return { digits: value, exponent: 0, isShort: true };
  if (value instanceof Opaque && value.type === TYPE && isQuantity(value.data)) return value.data;
  throw noSuchOverload('a function of quantities');
}

function sum(a: Quantity, b: Quantity): Quantity {
  const bothShort = a.isShort && b.isShort;
  if (bothShort && b.digits === 0n) return a;
  if (bothShort && a.digits === 0n) return b;
  const exponent = Math.min(a.exponent, b.exponent);
  const left = a.digits * powerOf10(a.exponent - exponent);
  const right = b.digits * powerOf10(b.exponent - exponent);
  const digits = left + right;
  return { digits, exponent, isShort: bothShort && [left, right, digits].every(isInt64) };
}

function difference(a: Quantity, b: Quantity): Quantity {
  return sum(a, { ...b, digits: -b.digits });
}

function isInt64(value: bigint): boolean {
  return value <= MAX_INT && value >= MIN_INT;
}

/** @returns undefined for what is no int64, or has a form that is none */
function integerOf({ digits, exponent, isShort }: Quantity): bigint | undefined {
  if (!isShort || exponent < 0) return undefined;
  // Zero and 10^19 are enough to tell.
  const value = digits * 10n ** BigInt(Math.min(exponent, 19));
  return isInt64(value) ? value : undefined;
}

/** Go's math.Pow10, which is a product of two. */
function doubleOf10(exponent: number): number {
  if (exponent > 308) return Number.POSITIVE_INFINITY;
  if (exponent < -323) return 0;
  const units = Number(`1e${Math.abs(exponent) % 32}`);
  const rest = Number(`1e${exponent - (exponent % 32)}`);
  return exponent < 0 ? rest / units : rest * units;
}

function accessor(run: (quantity: Quantity, other: Value | undefined) => Value): Run {
  return ([quantity, other], budget) => {
    budget.spend(1);
    return run(quantityOf(quantity), other);
  };
}

const compared = (run: (order: bigint) => Value) =>
  accessor((quantity, other) => run(signOf(difference(quantity, quantityOf(other)))));
const added = accessor((quantity, other) => made(sum(quantity, quantityOf(other))));
const subtracted = accessor((quantity, other) => made(difference(quantity, quantityOf(other))));

function signOf({ digits }: Quantity): bigint {
  return digits === 0n ? 0n : digits < 0n ? -1n : 1n;
}

function reading(run: (quantity: Quantity | undefined) => Value): Run {
  return ([text], budget) => {
    budget.spendText(String(text).length);
    return run(parse(String(text)));
  };
}

const QUANTITIES: Functions = {
  'quantity(string): Quantity': reading((quantity) => {
    if (quantity === undefined) throw new EvaluationFault('no quantity');
    return made(quantity);
  }),
  'isQuantity(string): bool': reading((quantity) => quantity !== undefined),
  'sign(Quantity): int': accessor(signOf),
  'Quantity.isGreaterThan(Quantity): bool': compared((order) => order > 0n),
  'Quantity.isLessThan(Quantity): bool': compared((order) => order < 0n),
  'Quantity.compareTo(Quantity): int': compared((order) => order),
  'Quantity.asApproximateFloat(): double': accessor(
    ({ digits, exponent }) => Number(digits) * doubleOf10(exponent),
  ),
  'Quantity.asInteger(): int': accessor((quantity) => {
    const integer = integerOf(quantity);
    if (integer === undefined) throw new EvaluationFault('cannot convert value to integer');
    return integer;
  }),
  'Quantity.isInteger(): bool': accessor((quantity) => integerOf(quantity) !== undefined),
  'Quantity.add(Quantity): Quantity': added,
  'Quantity.add(int): Quantity': added,
  'Quantity.sub(Quantity): Quantity': subtracted,
  'Quantity.sub(int): Quantity': subtracted,
};

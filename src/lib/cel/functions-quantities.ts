/**
 * Quantities such as `1.5Gi`, as Kubernetes' library reads them.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library
 */
import type { Declarations, Functions, Run } from './declarations.ts';
import { EvaluationFault, noSuchOverload } from './errors.ts';
import { MAX_INT, MIN_INT } from './numbers.ts';
import { Opaque, type Value } from './values.ts';

export function declareQuantities(declarations: Declarations): void {
  declarations.add(QUANTITIES);
}

const TYPE = 'kubernetes.Quantity';
/** Nothing smaller is counted. */
const NANO = 1_000_000_000n;
const BINARY: Readonly<Record<string, bigint>> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const QUANTITY = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[KMGTPE]i)|[numkMGTPE]?|[eE][+-]?[0-9]+)$/;

/** @returns thousand-millionths; undefined for what is no quantity */
function parse(text: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', suffix = ''] = QUANTITY.exec(text) ?? [];
  if (whole + fraction === '') return undefined;
  const exponent = /^[eE][+-]?[0-9]/.test(suffix) ? Number(suffix.slice(1)) : DECIMAL[suffix];
  if (exponent !== undefined && Math.abs(exponent) > 1_000) return undefined;
  const power = (exponent ?? 0) - fraction.length;
  const digits = BigInt(whole + fraction) * NANO * (1n << (BINARY[suffix] ?? 0n));
  const value = power >= 0 ? digits * 10n ** BigInt(power) : roundedUp(digits, 10n ** BigInt(-power));
  const most = MAX_INT * NANO;
  const bounded = value > most ? most : value;
  return sign === '-' ? -bounded : bounded;
}

function roundedUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

function made(value: bigint): Opaque {
  return new Opaque(TYPE, String(value), value);
}

function valueOfQuantity(quantity: Value | undefined): bigint {
  if (quantity instanceof Opaque && quantity.type === TYPE && typeof quantity.data === 'bigint')
    return quantity.data;
  throw noSuchOverload('a function of quantities');
}

function accessor(run: (value: bigint, other: Value | undefined) => Value): Run {
  return ([quantity, other], budget) => {
    budget.spend(1);
    return run(valueOfQuantity(quantity), other);
  };
}

function isInteger(value: bigint): boolean {
  return value % NANO === 0n && value / NANO <= MAX_INT && value / NANO >= MIN_INT;
}

function reading(run: (value: bigint | undefined) => Value): Run {
  return ([text], budget) => {
    budget.spendText(String(text).length);
    return run(parse(String(text)));
  };
}

const order = (a: bigint, b: bigint) => (a === b ? 0n : a < b ? -1n : 1n);
const ofInt = (value: Value | undefined) =>
  typeof value === 'bigint' ? value * NANO : valueOfQuantity(value);

const QUANTITIES: Functions = {
  'quantity(string): Quantity': reading((value) => {
    if (value === undefined) throw new EvaluationFault('no quantity');
    return made(value);
  }),
  'isQuantity(string): bool': reading((value) => value !== undefined),
  'sign(Quantity): int': accessor((value) => order(value, 0n)),
  'Quantity.isGreaterThan(Quantity): bool': accessor((value, other) => value > valueOfQuantity(other)),
  'Quantity.isLessThan(Quantity): bool': accessor((value, other) => value < valueOfQuantity(other)),
  'Quantity.compareTo(Quantity): int': accessor((value, other) => order(value, valueOfQuantity(other))),
  'Quantity.asApproximateFloat(): double': accessor((value) => Number(value) / Number(NANO)),
  'Quantity.asInteger(): int': accessor((value) => {
    if (!isInteger(value)) throw new EvaluationFault('cannot convert value to integer');
    return value / NANO;
  }),
  'Quantity.isInteger(): bool': accessor(isInteger),
  'Quantity.add(Quantity): Quantity': accessor((value, other) => made(value + valueOfQuantity(other))),
  'Quantity.add(int): Quantity': accessor((value, other) => made(value + ofInt(other))),
  'Quantity.sub(Quantity): Quantity': accessor((value, other) => made(value - valueOfQuantity(other))),
  'Quantity.sub(int): Quantity': accessor((value, other) => made(value - ofInt(other))),
};

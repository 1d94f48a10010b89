/**
 * Quantities of resources such as `1500m`, `1536Mi` or `3`, exact and in nano-units, as Kubernetes reads and
 * prints them.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
import { isJSONObject } from '../lib/json-object.ts';

/** The family of suffixes: `k`, `M`; `Ki`, `Mi`; `e3`, `e6`. */
export type QuantityFormat = 'decimal' | 'binary' | 'exponent';

/** One unit: a CPU, a byte, an object. */
export const ONE = 10n ** 9n;
/** Kubernetes' definition ends at an int64. */
const MAX_QUANTITY = (2n ** 63n - 1n) * ONE;

const QUANTITY = /^([+-]?)(?=\.?[0-9])([0-9]*)\.?([0-9]*)([KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]+)$/;
/** Bounds the time to read one. */
const MAX_LENGTH = 64;
/** Powers of 1000 from 10^-9, and of 1024. */
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/**
 * @param value a text, or a number of JSON
 * @returns nano-units, rounded away from zero and capped; undefined for what is no quantity
 */
export function parseQuantity(value: unknown): bigint | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const [matched, sign, whole = '', fraction = '', suffix = ''] = partsOf(String(value));
  if (matched === undefined) return undefined;
  const power = DECIMAL.indexOf(suffix);
  const binary = BINARY.indexOf(suffix);
  const exponent = binary > 0 ? 9 : power < 0 ? Number(suffix.slice(1)) + 9 : power * 3;
  const digits = BigInt(whole + fraction) * 1024n ** BigInt(Math.max(binary, 0));
  const nanos = scaled(digits, exponent - fraction.length);
  const capped = nanos > MAX_QUANTITY ? MAX_QUANTITY : nanos;
  return sign === '-' ? -capped : capped;
}

/** Reads a ResourceList. A value that is no amount counts as more than any quota allows. */
export function readResourceList(list: unknown): ReadonlyMap<string, bigint> {
  const amounts = new Map<string, bigint>();
  for (const [resource, value] of Object.entries(isJSONObject(list) ? list : {})) {
    const amount = parseQuantity(value) ?? -1n;
    amounts.set(resource, amount < 0n ? MAX_QUANTITY : amount);
  }
  return amounts;
}

/** The format in which a quantity is written, and in which sums of it are printed. */
export function formatOf(text: string): QuantityFormat {
  const [, , , , suffix = ''] = partsOf(text);
  if (suffix.endsWith('i')) return 'binary';
  return suffix.length > 1 ? 'exponent' : 'decimal';
}

/** In canonical form: no fraction, and the largest suffix that loses nothing. */
export function formatQuantity(nanos: bigint, format: QuantityFormat): string {
  if (nanos === 0n) return '0';
  const units = nanos / ONE;
  if (format === 'binary' && nanos % ONE === 0n && (units >= 1024n || units <= -1024n)) {
    const { rest, power } = withoutFactors(units, 1024n, BINARY.length - 1);
    return `${rest}${BINARY[power]}`;
  }
  const { rest, power } = withoutFactors(nanos, 1000n, DECIMAL.length - 1);
  if (format !== 'exponent') return `${rest}${DECIMAL[power]}`;
  return power === 3 ? String(rest) : `${rest}e${power * 3 - 9}`;
}

/** @param like a quantity in whose format the amount is written */
export function formatLike(nanos: bigint, like: string): string {
  return formatQuantity(nanos, formatOf(like));
}

function partsOf(text: string): readonly (string | undefined)[] {
  return text.length > MAX_LENGTH ? [] : (QUANTITY.exec(text) ?? []);
}

/** Rounded up. Beyond these powers every number of that length is too large, or less than one. */
function scaled(digits: bigint, power: number): bigint {
  const factor = 10n ** BigInt(Math.min(Math.abs(power), 100));
  return power >= 0 ? digits * factor : (digits + factor - 1n) / factor;
}

function withoutFactors(value: bigint, factor: bigint, most: number) {
  let rest = value;
  let power = 0;
  for (; power < most && rest % factor === 0n; power += 1) rest /= factor;
  return { rest, power };
}

/**
 * `format`, as the version of cel-go's string functions that Kubernetes has writes values.
 * https://pkg.go.dev/github.com/google/cel-go/ext#hdr-Format-strings
 */
import type { Node } from './ast.ts';
import type { Checked } from './declarations.ts';
import { type Budget, EvaluationFault } from './errors.ts';
import { formatDouble, formatScientific, specialNumber } from './numbers.ts';
import { formatDuration, formatTimestamp } from './times.ts';
import { Dictionary, Duration, List, Timestamp, TypeValue, Uint, type Value } from './values.ts';

const DEFAULT_PRECISION = 6;
const MAX_PRECISION = 100;
const CLAUSE = /%(?:(?<escaped>%)|(?:\.(?<precision>[0-9]*))?(?<verb>[\s\S])?)/gu;

/** @throws EvaluationFault for a clause that does not fit its argument */
export function formatted(format: string, args: List, budget: Budget): string {
  budget.spendText(format.length);
  let next = 0;
  return format.replaceAll(CLAUSE, (_clause, escaped, precision, verb) => {
    if (escaped !== undefined) return '%';
    const value = args.items[next];
    next += 1;
    if (value === undefined) throw new EvaluationFault('format() has too few arguments');
    const text = clause(String(verb ?? ''), precisionOf(precision), value);
    budget.spendText(text.length);
    return text;
  });
}

/** @throws EvaluationFault */
function precisionOf(precision: unknown): number {
  if (precision === undefined) return DEFAULT_PRECISION;
  const number = Number(precision);
  if (precision === '' || number > MAX_PRECISION) throw new EvaluationFault('format() has a wrong precision');
  return number;
}

function clause(verb: string, precision: number, value: Value): string {
  switch (verb) {
    case 's':
      return plainText(value);
    case 'd':
      return String(integer(value));
    case 'f':
      return grouped(double(value), precision);
    case 'e':
      return scientific(double(value), precision);
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : integer(value).toString(2);
    case 'o':
      return integer(value).toString(8);
    case 'x':
      return hexadecimal(value);
    case 'X':
      return hexadecimal(value).toUpperCase();
    default:
      throw new EvaluationFault('format() has an unknown clause');
  }
}

function unfit(): EvaluationFault {
  return new EvaluationFault('format() has a clause that does not fit its argument');
}

function integer(value: Value): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  throw unfit();
}

const SPECIAL = new Map<Value, number>([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

function double(value: Value): number {
  const number = typeof value === 'number' ? value : SPECIAL.get(value);
  if (number === undefined) throw unfit();
  return number;
}

function hexadecimal(value: Value): string {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return integer(value).toString(16);
}

/** As golang.org/x/text writes English. */
function grouped(value: number, precision: number): string {
  const special = localSpecial(value);
  if (special !== undefined) return special;
  const [whole = '', fraction] = exactFixed(value, precision).split('.');
  const groups = whole.replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

/** `%.*f`: a tie is rounded to even, though `toFixed` takes the larger. */
function exactFixed(value: number, precision: number): string {
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const bits = new BigUint64Array(Float64Array.of(Math.abs(value)).buffer)[0] ?? 0n;
  const exponent = Number(bits >> 52n);
  const mantissa = exponent === 0 ? bits : (bits & (2n ** 52n - 1n)) | (2n ** 52n);
  const power = Math.max(exponent, 1) - 1_075;
  const scaled = mantissa * 10n ** BigInt(precision);
  const digits = power >= 0 ? scaled << BigInt(power) : roundedToEven(scaled, 1n << BigInt(-power));
  const text = String(digits).padStart(precision + 1, '0');
  return sign + (precision === 0 ? text : `${text.slice(0, -precision)}.${text.slice(-precision)}`);
}

function roundedToEven(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  const up = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return up ? quotient + 1n : quotient;
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** kube-apiserver takes the number behind the point for a width. */
function scientific(value: number, width: number): string {
  const special = localSpecial(value);
  if (special !== undefined) return special;
  const [digits = '', exponent = ''] = formatScientific(value, DEFAULT_PRECISION).split('e');
  const raised = exponent
    .replace('+', '')
    .replace('-', '⁻')
    .replaceAll(/\d/g, (digit) => SUPERSCRIPTS.charAt(Number(digit)));
  return `${digits}×10${raised}`.padStart(width);
}

function localSpecial(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return undefined;
  return value > 0 ? '∞' : '-∞';
}

function plainText(value: Value): string {
  if (value === null) return 'null';
  if (value instanceof List) return `[${value.items.map(memberText).join(', ')}]`;
  if (value instanceof Dictionary) return dictionaryText(value);
  return scalarText(value);
}

function scalarText(value: Value): string {
  if (typeof value === 'number') return formatDouble(value);
  if (value !== null && typeof value !== 'object') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  throw unfit();
}

/** Within a list or a map texts are quoted, and doubles have their six digits. */
function memberText(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    const special = specialNumber(value);
    return special === undefined ? exactFixed(value, DEFAULT_PRECISION) : JSON.stringify(special);
  }
  if (value instanceof Uint8Array) return `b${JSON.stringify(scalarText(value))}`;
  if (value instanceof TypeValue) return `type(${value.name})`;
  if (value instanceof Timestamp) return `timestamp("${formatTimestamp(value)}")`;
  if (value instanceof Duration) return `duration("${formatDuration(value)}")`;
  return plainText(value);
}

function dictionaryText(dictionary: Dictionary): string {
  const members = dictionary.entries().map(([key, value]) => [keyText(key), memberText(value)] as const);
  const sorted = members.toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${sorted.map(([key, value]) => `${key}:${value}`).join(', ')}}`;
}

function keyText(key: Value): string {
  if (typeof key === 'string') return JSON.stringify(key);
  return typeof key === 'boolean' ? String(key) : String(integer(key));
}

const KINDS: Readonly<Record<string, ReadonlySet<string>>> = {
  d: new Set(['int', 'uint']),
  o: new Set(['int', 'uint']),
  b: new Set(['int', 'uint', 'bool']),
  x: new Set(['int', 'uint', 'string', 'bytes']),
  X: new Set(['int', 'uint', 'string', 'bytes']),
  f: new Set(['double', 'string']),
  e: new Set(['double', 'string']),
};

/** Checks `"…".format([…])` before it runs: the number of arguments, and the types that are known. */
export function formatFault(format: string, args: readonly Node[], { typeOf }: Checked): string | undefined {
  let next = 0;
  for (const { groups } of format.matchAll(CLAUSE)) {
    const { escaped, precision, verb } = groups ?? {};
    if (escaped !== undefined) continue;
    const argument = args[next];
    next += 1;
    if (argument === undefined || verb === undefined) return 'format() has too few arguments';
    if (precision === '') return 'format() has a wrong precision';
    if (verb !== 's' && !Object.hasOwn(KINDS, verb)) return 'format() has an unknown clause';
    if (verb === 's' ? !isText(argument, typeOf) : !isOneOf(argument, KINDS[verb], typeOf))
      return 'format() has a clause that does not fit its argument';
  }
  return args.length > next ? 'format() has too many arguments' : undefined;
}

type TypeOf = Checked['typeOf'];

function isOneOf(node: Node, kinds: ReadonlySet<string> | undefined, typeOf: TypeOf): boolean {
  const type = typeOf(node);
  return type.kind === 'dyn' || kinds?.has(type.name) === true;
}

const TEXTS = new Set([
  'list',
  'map',
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'type',
  'null_type',
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
]);

function isText(node: Node, typeOf: TypeOf): boolean {
  if (!isOneOf(node, TEXTS, typeOf)) return false;
  if (node.kind === 'list') return node.elements.every(({ value }) => isText(value, typeOf));
  if (node.kind === 'map')
    return node.entries.every(({ key, value }) => isText(key, typeOf) && isText(value, typeOf));
  return true;
}

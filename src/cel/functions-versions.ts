/**
 * Semantic versions, as Kubernetes' library reads and compares them.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-semver-library
 */
import type { Declarations, Functions } from './declarations.ts';
import { type Budget, EvaluationFault, noSuchOverload } from './errors.ts';
import { checkedInt, parseUint64 } from './numbers.ts';
import { Opaque, type Value } from './values.ts';

export function declareVersions(declarations: Declarations): void {
  declarations.add(VERSIONS);
}

const TYPE = 'kubernetes.Semver';

class Version {
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly bigint[], prerelease: readonly string[]) {
    this.numbers = numbers;
    this.prerelease = prerelease;
  }
}

const NUMBER = '(0|[1-9][0-9]*)';
const VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-([0-9A-Za-z.-]*))?(?:\\+([0-9A-Za-z.-]*))?$`,
);

/** @returns undefined for what is none */
function parse(text: string): Version | undefined {
  const [, major = '', minor = '', patch = '', prerelease, build] = VERSION.exec(text) ?? [];
  const numbers = [major, minor, patch].map(parseUint64);
  const known = numbers.filter((number) => number !== undefined);
  if (known.length < 3 || build?.split('.').includes('') === true) return undefined;
  const parts = prerelease?.split('.') ?? [];
  return parts.every(isPart) ? new Version(known, parts) : undefined;
}

function isPart(part: string): boolean {
  if (!/^[0-9]+$/.test(part)) return part !== '';
  return (part === '0' || !part.startsWith('0')) && parseUint64(part) !== undefined;
}

/** Without a `v` before it, leading zeros, and with what is left out. */
function normalized(text: string): string | undefined {
  const parts = text.replace(/^v/, '').split('.');
  const three = parts.length > 3 ? [...parts.slice(0, 2), parts.slice(2).join('.')] : parts;
  const stripped = three.map((part) =>
    part.length > 1 ? part.replace(/^0+(?![0-9])|^0+/, remainingZero(part)) : part,
  );
  if (stripped.length < 3 && /[+-]/.test(stripped.at(-1) ?? '')) return undefined;
  return [...stripped, '0', '0'].slice(0, 3).join('.');
}

/** One zero is left before what is no digit. */
function remainingZero(part: string): string {
  return /^0+(?:$|[^0-9])/.test(part) ? '0' : '';
}

function read(text: Value | undefined, tolerant: Value | undefined, budget: Budget): Version | undefined {
  if (typeof text !== 'string') throw noSuchOverload('semver');
  budget.spendText(text.length);
  const given = tolerant === true ? normalized(text) : text;
  return given === undefined ? undefined : parse(given);
}

function made([text, tolerant]: readonly Value[], budget: Budget): Opaque {
  const version = read(text, tolerant, budget);
  if (version === undefined) throw new EvaluationFault('no semantic version');
  return new Opaque(TYPE, `${version.numbers.join('.')}-${version.prerelease.join('.')}`, version);
}

function isVersion([text, tolerant]: readonly Value[], budget: Budget): boolean {
  return read(text, tolerant, budget) !== undefined;
}

function versionOf(value: Value | undefined): Version {
  if (value instanceof Opaque && value.data instanceof Version) return value.data;
  throw noSuchOverload('a function of versions');
}

/** SemVer 2.0.0 §11. */
function order(a: Version, b: Version): number {
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return Math.sign(b.prerelease.length - a.prerelease.length);
  for (const [index, part] of a.prerelease.entries()) {
    const other = b.prerelease[index];
    if (other === undefined) return 1;
    const difference = orderOfParts(part, other);
    if (difference !== 0) return difference;
  }
  return Math.sign(a.prerelease.length - b.prerelease.length);
}

function orderOfParts(a: string, b: string): number {
  const [left, right] = [parseUint64(a), parseUint64(b)];
  if (left !== undefined && right !== undefined) return left === right ? 0 : left < right ? -1 : 1;
  if (left !== undefined) return -1;
  if (right !== undefined) return 1;
  return a === b ? 0 : a < b ? -1 : 1;
}

function comparing(result: (order: number) => Value) {
  return ([a, b]: readonly Value[], budget: Budget): Value => {
    budget.spend(1);
    return result(order(versionOf(a), versionOf(b)));
  };
}

function part(index: number) {
  return ([version]: readonly Value[], budget: Budget): Value => {
    budget.spend(1);
    return checkedInt(versionOf(version).numbers[index] ?? 0n);
  };
}

const VERSIONS: Functions = {
  'semver(string): Semver': made,
  'semver(string, bool): Semver': made,
  'isSemver(string): bool': isVersion,
  'isSemver(string, bool): bool': isVersion,
  'Semver.isGreaterThan(Semver): bool': comparing((order) => order > 0),
  'Semver.isLessThan(Semver): bool': comparing((order) => order < 0),
  'Semver.compareTo(Semver): int': comparing((order) => BigInt(order)),
  'Semver.major(): int': part(0),
  'Semver.minor(): int': part(1),
  'Semver.patch(): int': part(2),
};

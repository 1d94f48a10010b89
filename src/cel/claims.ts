/**
 * `claims` and `user`, as kube-apiserver hands them to expressions.
 */
import { EvaluationFault } from './errors.ts';
import { Dictionary, List, Root, type Value } from './values.ts';

/** @param claims parsed JSON */
export function claimsRoot(claims: object): Root {
  return new Root(
    'kubernetes.claims',
    new Map(Object.entries(claims).map(([name, value]) => [name, once(() => ofClaim(value))])),
  );
}

export interface UserValue {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export function userRoot({ username, uid, groups, extra }: UserValue): Root {
  const lists = Object.entries(extra).map(([key, values]) => [key, new List(values)] as const);
  return new Root(
    'kubernetes.UserInfo',
    new Map<string, () => Value>([
      ['username', () => username],
      ['uid', () => uid],
      ['groups', () => new List(groups, { ofClaim: true })],
      ['extra', () => new Dictionary(lists, true)],
    ]),
  );
}

function once(read: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= read();
    return value;
  };
}

function ofClaim(value: unknown): Value {
  const converted = fromJSON(value);
  if (converted instanceof List) return new List(converted.items, { ofClaim: true });
  return converted instanceof Dictionary ? converted.asOfClaim() : converted;
}

/** Every number is a double: Go reads JSON so. */
function fromJSON(value: unknown): Value {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new EvaluationFault('a number is out of range');
    return value;
  }
  if (Array.isArray(value)) return new List(value.map(fromJSON));
  if (typeof value === 'object')
    return new Dictionary(
      Object.entries(value).map(([key, member]) => [key.toWellFormed(), fromJSON(member)]),
    );
  throw new EvaluationFault('a claim is no JSON');
}

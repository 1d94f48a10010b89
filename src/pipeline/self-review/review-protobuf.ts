/**
 * Reads access reviews that come as protobuf: kubectl sends them so from 1.32 on, and does not fall back to
 * JSON. Only the fields that may be asked about are known here; every other is skipped.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding;
 * field numbers: k8s.io/api/authorization/v1/generated.proto
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { isJSONObject } from '../../lib/json-object.ts';

/** A string, or a message if its own fields are given; `list` if it may occur often. */
type Field = readonly [name: string, fields?: Message | undefined, list?: 'list'];
/** By field number. */
type Message = ReadonlyMap<number, Field>;
type Fields = Readonly<Record<string, unknown>>;

/** What stands before the envelope. */
const MAGIC = Buffer.from('k8s\0');
/** Of runtime.Unknown; the type beside it says no more than the path does. */
const RAW = 2;

const RESOURCE_ATTRIBUTES: Message = new Map([
  [1, ['namespace']],
  [2, ['verb']],
  [3, ['group']],
  [4, ['version']],
  [5, ['resource']],
  [6, ['subresource']],
  [7, ['name']],
]);
const NON_RESOURCE_ATTRIBUTES: Message = new Map([
  [1, ['path']],
  [2, ['verb']],
]);
const ACCESS: Message = new Map<number, Field>([
  [1, ['resourceAttributes', RESOURCE_ATTRIBUTES]],
  [2, ['nonResourceAttributes', NON_RESOURCE_ATTRIBUTES]],
]);
const EXTRA_VALUE: Message = new Map([[1, ['items', undefined, 'list']]]);
/** An entry of a map from text to a list of texts. */
const EXTRA: Message = new Map<number, Field>([
  [1, ['key']],
  [2, ['value', EXTRA_VALUE]],
]);
const SPECS = {
  access: ACCESS,
  subject: new Map<number, Field>([
    ...ACCESS,
    [3, ['user']],
    [4, ['groups', undefined, 'list']],
    [5, ['extra', EXTRA, 'list']],
    [6, ['uid']],
  ]),
  rules: new Map<number, Field>([[1, ['namespace']]]),
} as const satisfies Readonly<Record<string, Message>>;
const SPEC = 2;

/**
 * @returns the review as its JSON would be, with its `spec` alone
 * @throws Error if the bytes are no such message
 */
export function decodeReview(body: Uint8Array, review: keyof typeof SPECS): Fields {
  if (!MAGIC.equals(body.subarray(0, MAGIC.length)))
    throw new Error('it does not begin as Kubernetes protobuf');
  return decode(rawOf(body.subarray(MAGIC.length)), new Map([[SPEC, ['spec', SPECS[review]]]]));
}

/**
 * A review of another user's rights, as its JSON would be in `authorization.k8s.io/VERSION`.
 *
 * @throws Error if the bytes are no such message
 */
export function decodeSubjectReview(body: Uint8Array, version: string): Fields {
  const { spec = {} } = decodeReview(body, 'subject');
  if (!isJSONObject(spec)) throw new TypeError('a message is an object');
  const { groups, extra = [], ...rest } = spec;
  const entries = Array.isArray(extra) ? extra.filter(isJSONObject) : [];
  const values = entries.map(({ key = '', value }): [string, unknown] => [
    String(key),
    isJSONObject(value) ? (value.items ?? []) : [],
  ]);
  return {
    spec: {
      ...rest,
      ...(groups !== undefined && { [version === 'v1beta1' ? 'group' : 'groups']: groups }),
      ...(values.length > 0 && { extra: Object.fromEntries(values) }),
    },
  };
}

function rawOf(envelope: Uint8Array): Uint8Array {
  let raw: Uint8Array = new Uint8Array();
  const reader = new BinaryReader(envelope);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === RAW && wireType === WireType.LengthDelimited) raw = reader.bytes();
    else reader.skip(wireType, number);
  }
  return raw;
}

/** @returns a field that may occur often as a list, any other as its last value */
function decode(bytes: Uint8Array, message: Message): Fields {
  const fields = new Map<string, unknown>();
  const lists = new Map<string, unknown[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const known = wireType === WireType.LengthDelimited ? message.get(number) : undefined;
    if (known === undefined) reader.skip(wireType, number);
    else {
      const [name, inner, list] = known;
      const value = inner === undefined ? reader.string(true) : decode(reader.bytes(), inner);
      if (list === undefined) fields.set(name, value);
      else {
        const values = lists.get(name);
        if (values === undefined) lists.set(name, [value]);
        else values.push(value);
      }
    }
  }
  return Object.fromEntries([...fields, ...lists]);
}

/**
 * Reads objects that come as Kubernetes protobuf, with no more than the fields that are asked for; every
 * other is skipped.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** A string, or a message if its own fields are given; `list` if it may occur often. */
export type Field = readonly [name: string, fields?: Message | undefined, list?: 'list'];
/** By field number. */
export type Message = ReadonlyMap<number, Field>;
export type Fields = Readonly<Record<string, unknown>>;

/** What stands before the envelope. */
const MAGIC = Buffer.from('k8s\0');
/** Of runtime.Unknown; the type beside it says no more than the path does. */
const RAW = 2;

export function isKubernetesProtobuf(body: Uint8Array): boolean {
  return MAGIC.equals(body.subarray(0, MAGIC.length));
}

/**
 * @returns the object as its JSON would be, with the fields of the message alone
 * @throws Error if the bytes are no such message
 */
export function decodeObject(body: Uint8Array, message: Message): Fields {
  if (!isKubernetesProtobuf(body)) throw new Error('it does not begin as Kubernetes protobuf');
  return decode(rawOf(body.subarray(MAGIC.length)), message);
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

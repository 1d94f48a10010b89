/**
 * Reads self reviews that come as protobuf: kubectl sends them so from 1.32 on, and does not fall back to JSON. Only
 * the fields that may be asked about are known here; every other is skipped.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding;
 * field numbers: k8s.io/api/authorization/v1/generated.proto
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';

/** Field number → its name: a string, or a message where its own fields are given. */
type Message = ReadonlyMap<number, readonly [name: string, fields?: Message]>;
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
const SPECS = {
  access: new Map([
    [1, ['resourceAttributes', RESOURCE_ATTRIBUTES]],
    [2, ['nonResourceAttributes', NON_RESOURCE_ATTRIBUTES]],
  ]),
  rules: new Map([[1, ['namespace']]]),
} as const satisfies Readonly<Record<string, Message>>;
const SPEC = 2;

/**
 * @returns the review as its JSON would be, with its `spec` alone
 * @throws Error where the bytes are no such message
 */
export function decodeReview(body: Uint8Array, review: keyof typeof SPECS): Fields {
  if (!MAGIC.equals(body.subarray(0, MAGIC.length)))
    throw new Error('it does not begin as Kubernetes protobuf');
  return decode(rawOf(body.subarray(MAGIC.length)), new Map([[SPEC, ['spec', SPECS[review]]]]));
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

function decode(bytes: Uint8Array, message: Message): Fields {
  const fields: [string, unknown][] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const known = wireType === WireType.LengthDelimited ? message.get(number) : undefined;
    if (known === undefined) reader.skip(wireType, number);
    else {
      const [name, inner] = known;
      fields.push([name, inner === undefined ? reader.string(true) : decode(reader.bytes(), inner)]);
    }
  }
  return Object.fromEntries(fields);
}

/**
 * Writes Kubernetes' protobuf by field numbers.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A message as the list of its fields, each of which may occur more than once. */
export type Message = readonly (readonly [
  number: number,
  value: string | number | bigint | Uint8Array | Message,
])[];

export function encodeMessage(message: Message): Uint8Array {
  const writer = new BinaryWriter();
  for (const [number, value] of message) {
    const isInteger = typeof value === 'number' || typeof value === 'bigint';
    writer.tag(number, isInteger ? WireType.Varint : WireType.LengthDelimited);
    if (isInteger) writer.int64(value);
    else if (typeof value === 'string') writer.string(value);
    else writer.bytes(value instanceof Uint8Array ? value : encodeMessage(value));
  }
  return writer.finish();
}

/** The object in `runtime.Unknown`, as clients and API servers send it. */
export function encodeObject(apiVersion: string, kind: string, object: Message) {
  const envelope = encodeMessage([
    [
      1,
      [
        [1, apiVersion],
        [2, kind],
      ],
    ],
    [2, object],
    [3, ''],
    [4, ''],
  ]);
  return Buffer.concat([Buffer.from('k8s\0'), envelope]);
}

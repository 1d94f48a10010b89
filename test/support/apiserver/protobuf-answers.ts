/**
 * Responses in Kubernetes’ protobuf, as an Arktos server sends them to clients that prefer it. The framing is
 * that of real servers; of each object only the name, namespace and data are sent, whose field numbers are
 * the same in both, and which show a test whose object it is.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */
import { PROTOBUF_TYPE } from '../../../src/kubernetes/meta-v1.ts';
import { encodeMessage, encodeObject, type Message } from '../protobuf.ts';
import { type JsonObject, objectAt, objectsAt, textAt } from './json.ts';

/** Whether protobuf is the first type in an Accept header that the server supports. */
export function prefersProtobuf(accept: string) {
  for (const range of accept.split(',')) {
    const [type = ''] = range.split(';');
    if (type.trim() === PROTOBUF_TYPE) return true;
    if (['application/json', 'application/*', '*/*'].includes(type.trim())) return false;
  }
  return false;
}

/** An object or a list of them, in the envelope. */
export function encodeProtobuf(object: JsonObject) {
  return encodeObject(textAt(object, 'apiVersion'), textAt(object, 'kind'), messageOf(object));
}

/** One event of a watch, preceded by its length. */
export function encodeProtobufEvent(type: string, object: JsonObject) {
  const event = encodeMessage([
    [1, type],
    [2, [[1, encodeProtobuf(object)]]],
  ]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

function messageOf(object: JsonObject): Message {
  if ('items' in object)
    return [[1, []], ...objectsAt(object, 'items').map((item) => [2, messageOf(item)] as const)];
  const metadata = objectAt(object, 'metadata');
  const data = objectAt(object, 'data');
  return [
    [
      1,
      [
        [1, textAt(metadata, 'name')],
        [3, textAt(metadata, 'namespace')],
      ],
    ],
    ...Object.keys(data).map((key): Message[number] => [
      2,
      [
        [1, key],
        [2, textAt(data, key)],
      ],
    ]),
  ];
}

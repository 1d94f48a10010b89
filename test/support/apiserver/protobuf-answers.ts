/**
 * Answers in Kubernetes' protobuf, as an Arktos server gives them to clients that prefer it. Of each object
 * only its name, namespace and data go out: that much of the field numbers is the same in both, and a test
 * only needs to see whose object it is. The framing is that of the real servers, the choice of fields is a
 * simplification.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */
import { PROTOBUF_TYPE } from '../../../src/kubernetes/meta-v1.ts';
import { encodeMessage, encodeObject, type Message } from '../protobuf.ts';
import { type JsonObject, objectAt, objectsAt, textAt } from './json.ts';

/** Whether protobuf is the first form in an Accept header that the server has. */
export function prefersProtobuf(accept: string): boolean {
  for (const range of accept.split(',')) {
    const [type = ''] = range.split(';');
    if (type.trim() === PROTOBUF_TYPE) return true;
    if (['application/json', 'application/*', '*/*'].includes(type.trim())) return false;
  }
  return false;
}

/** An object or a list of them, in the envelope. */
export function encodeProtobuf(object: JsonObject): Buffer {
  return encodeObject(textAt(object, 'apiVersion'), textAt(object, 'kind'), messageOf(object));
}

/** One event of a watch, with its length before it. */
export function encodeProtobufEvent(type: string, object: JsonObject): Buffer {
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

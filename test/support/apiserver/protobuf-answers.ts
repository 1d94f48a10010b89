/**
 * Answers in Kubernetes' protobuf, as an Arktos server gives them to clients that prefer it. Of each object
 * only its name, namespace and data go out: that much of the field numbers is the same in both, and a test
 * only needs to see whose object it is. The framing is that of the real servers, the choice of fields is a
 * simplification.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */
import { type JsonObject, objectAt, objectsAt, textAt } from './json.ts';
import { PROTOBUF_TYPE } from './protobuf.ts';

const MAGIC = Buffer.from('k8s\0');

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
  const type = Buffer.concat([text(1, textAt(object, 'apiVersion')), text(2, textAt(object, 'kind'))]);
  return Buffer.concat([MAGIC, field(1, type), field(2, messageOf(object)), text(3, ''), text(4, '')]);
}

/** One event of a watch, with its length before it. */
export function encodeProtobufEvent(type: string, object: JsonObject): Buffer {
  const event = Buffer.concat([text(1, type), field(2, field(1, encodeProtobuf(object)))]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

function messageOf(object: JsonObject): Buffer {
  if ('items' in object)
    return Buffer.concat([
      field(1, Buffer.alloc(0)),
      ...objectsAt(object, 'items').map((item) => field(2, messageOf(item))),
    ]);
  const metadata = objectAt(object, 'metadata');
  const meta = Buffer.concat([text(1, textAt(metadata, 'name')), text(3, textAt(metadata, 'namespace'))]);
  const data = objectAt(object, 'data');
  const entries = Object.keys(data).map((key) =>
    field(2, Buffer.concat([text(1, key), text(2, textAt(data, key))])),
  );
  return Buffer.concat([field(1, meta), ...entries]);
}

function text(number: number, value: string): Buffer {
  return field(number, Buffer.from(value));
}

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

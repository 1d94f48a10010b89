/**
 * Reads the protobuf bodies that kubectl from 1.32 on sends for the kinds it creates with typed clients: the
 * envelope `k8s\0` + runtime.Unknown around the message of the kind. Only the fields that kubectl fills are
 * known.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */
import { ensureObject, type Json, type JsonObject, textAt } from './json.ts';
import { badRequest } from './statuses.ts';

export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';
const MAGIC = Buffer.from('k8s\0');

/** How a field reads: as text, number, bytes in base64, a map, or a message; `list` where it repeats. */
type FieldType = 'text' | 'number' | 'base64' | 'map' | 'base64-map' | Message;
interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly list?: boolean;
}
interface Message {
  readonly [number: number]: Field;
}

const text = (name: string): Field => ({ name, type: 'text' });
const texts = (name: string): Field => ({ name, type: 'text', list: true });
const count = (name: string): Field => ({ name, type: 'number' });
const map = (name: string): Field => ({ name, type: 'map' });
const message = (name: string, type: Message): Field => ({ name, type });
const messages = (name: string, type: Message): Field => ({ name, type, list: true });

const META = message('metadata', {
  1: text('name'),
  2: text('generateName'),
  3: text('namespace'),
  11: map('labels'),
  12: map('annotations'),
  14: texts('finalizers'),
});
const RESOURCE = {
  1: 'namespace',
  2: 'verb',
  3: 'group',
  4: 'version',
  5: 'resource',
  6: 'subresource',
  7: 'name',
};
const ACCESS = {
  1: message(
    'resourceAttributes',
    Object.fromEntries(Object.entries(RESOURCE).map(([number, name]) => [number, text(name)])),
  ),
  2: message('nonResourceAttributes', { 1: text('path'), 2: text('verb') }),
};
const RULES = messages('rules', {
  1: texts('verbs'),
  2: texts('apiGroups'),
  3: texts('resources'),
  4: texts('resourceNames'),
  5: texts('nonResourceURLs'),
});
const SUBJECTS = messages('subjects', {
  1: text('kind'),
  2: text('apiGroup'),
  3: text('name'),
  4: text('namespace'),
});
const ROLE_REF = message('roleRef', { 1: text('apiGroup'), 2: text('kind'), 3: text('name') });
const CONTAINERS = messages('containers', {
  1: text('name'),
  2: text('image'),
  3: texts('command'),
  4: texts('args'),
  6: messages('ports', { 1: text('name'), 3: count('containerPort'), 4: text('protocol') }),
});
const TEMPLATE = message('template', {
  1: META,
  2: message('spec', { 2: CONTAINERS, 3: text('restartPolicy'), 8: text('serviceAccountName') }),
});
const SELECTOR = message('selector', { 1: map('matchLabels') });

const KINDS: Readonly<Record<string, Message>> = {
  ConfigMap: { 1: META, 2: map('data'), 3: { name: 'binaryData', type: 'base64-map' } },
  Secret: { 1: META, 2: { name: 'data', type: 'base64-map' }, 3: text('type'), 4: map('stringData') },
  Namespace: { 1: META },
  ServiceAccount: { 1: META },
  Role: { 1: META, 2: RULES },
  ClusterRole: { 1: META, 2: RULES },
  RoleBinding: { 1: META, 2: SUBJECTS, 3: ROLE_REF },
  ClusterRoleBinding: { 1: META, 2: SUBJECTS, 3: ROLE_REF },
  Deployment: { 1: META, 2: message('spec', { 1: count('replicas'), 2: SELECTOR, 3: TEMPLATE }) },
  Job: { 1: META, 2: message('spec', { 6: TEMPLATE }) },
  Eviction: { 1: META },
  SelfSubjectReview: {},
  SelfSubjectAccessReview: { 2: message('spec', ACCESS) },
  SelfSubjectRulesReview: { 2: message('spec', { 1: text('namespace') }) },
  SubjectAccessReview: {
    2: message('spec', { ...ACCESS, 3: text('user'), 4: texts('groups'), 6: text('uid') }),
  },
  TokenReview: { 2: message('spec', { 1: text('token'), 2: texts('audiences') }) },
};

/** @throws ApiError 400 where the bytes are no such envelope or the kind is not known here */
export function decodeProtobuf(body: Buffer): JsonObject {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    throw badRequest('the object provided is unrecognized: no protobuf envelope');
  let raw: Buffer = Buffer.alloc(0);
  let type: JsonObject = {};
  for (const [number, bytes] of fieldsOf(body.subarray(MAGIC.length))) {
    if (typeof bytes === 'number') continue;
    if (number === 1) type = decode({ 1: text('apiVersion'), 2: text('kind') }, bytes);
    if (number === 2) raw = bytes;
  }
  const known = KINDS[textAt(type, 'kind')];
  if (known === undefined)
    throw badRequest(`the object provided is unrecognized: ${textAt(type, 'kind')} as protobuf`);
  return { ...type, ...decode(known, raw) };
}

function decode(schema: Message, bytes: Buffer): JsonObject {
  const object: JsonObject = {};
  for (const [number, value] of fieldsOf(bytes)) {
    const field = schema[number];
    if (field === undefined) continue;
    if (typeof value === 'number') {
      if (field.type === 'number') object[field.name] = value;
    } else if (field.type === 'map' || field.type === 'base64-map')
      addEntry(ensureObject(object, field.name), field.type, value);
    else {
      const item = readValue(field.type, value);
      const before = object[field.name];
      object[field.name] = field.list ? [...(Array.isArray(before) ? before : []), item] : item;
    }
  }
  return object;
}

function readValue(type: Exclude<FieldType, 'map' | 'base64-map'>, bytes: Buffer): Json {
  if (type === 'number')
    throw badRequest('the object provided is unrecognized: bytes where a number belongs');
  if (type === 'text') return bytes.toString('utf8');
  return type === 'base64' ? bytes.toString('base64') : decode(type, bytes);
}

function addEntry(target: JsonObject, type: 'map' | 'base64-map', bytes: Buffer): void {
  const value: Field = { name: 'value', type: type === 'map' ? 'text' : 'base64' };
  const entry = decode({ 1: text('key'), 2: value }, bytes);
  target[textAt(entry, 'key')] = textAt(entry, 'value');
}

/** The fields of a message: numbers, and what is length-delimited. */
function* fieldsOf(bytes: Buffer): Generator<[number: number, value: Buffer | number]> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wireType = tag & 7;
    if (wireType === 2) {
      const length = varint();
      yield [tag >>> 3, bytes.subarray(at, at + length)];
      at += length;
    } else if (wireType === 0) yield [tag >>> 3, varint()];
    else throw badRequest('the object provided is unrecognized: unknown wire type');
  }
}

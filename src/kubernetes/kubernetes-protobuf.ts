/**
 * Reads objects of the built-in kinds from Kubernetes' protobuf as the JSON that Go would write for them.
 * `kubernetes-kinds.json` has the fields of every kind; `scripts/kubernetes-kinds` writes it.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { timestamp } from '../lib/go-time.ts';
import { isJSONObject, type JSONObject, ownValue } from '../lib/json-object.ts';
import { isExactNumber, parseStrictJSON } from '../lib/strict-json.ts';
import schema from './kubernetes-kinds.json' with { type: 'json' };

/** `NUMBER NAME TYPE, …`: the fields of a message in the order of its JSON. */
type Definition = string;

interface Field {
  /** Empty if the fields of its message are members of the object around it. */
  readonly name: string;
  readonly isOmittedIfEmpty: boolean;
  readonly many: 'list' | 'map' | undefined;
  /** Whether an empty value differs from an absent one. */
  readonly isPointer: boolean;
  readonly type: string;
}

/** A message whose JSON is not the object of its fields. */
interface OwnJSON {
  readonly definition: Definition;
  toJSON(fields: JSONObject): unknown;
}

/** What stands before the envelope. */
const MAGIC = Buffer.from('k8s\0');
/** `runtime.Unknown`; API servers ignore its other fields. */
const ENVELOPE: Definition = '1 type TypeMeta, 2 raw raw';
/** More values than any object of a built-in kind needs. So many are read in some fifty milliseconds. */
const MAX_VALUES = 40_000;
const JSON_DEPTH = 256;
/** It is strict, and keeps a byte order mark. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const NOTHING = new Uint8Array();
const EMPTY: ReadonlySet<unknown> = new Set([null, '', 0, false]);
const VARINTS: ReadonlySet<string> = new Set(['bool', 'int32', 'int64']);
/** Seconds since 1970 of the instant that Go takes for none, and the first that RFC 3339 cannot express. */
const YEAR_1 = -62_135_596_800;
const YEAR_10000 = 253_402_300_800;

const KINDS: Readonly<Record<string, Readonly<Record<string, string>>>> = schema.kinds;
const MESSAGES: Readonly<Record<string, Definition>> = {
  ...schema.messages,
  TypeMeta: '1 apiVersion string, 2 kind string',
};
const OWN_JSON: ReadonlyMap<string, OwnJSON> = new Map([
  ['Quantity', { definition: '1 string string', toJSON: ({ string }) => string || '0' }],
  ['IntOrString', { definition: '1 type int64, 2 int int32, 3 string string', toJSON: intOrString }],
  ['Time', { definition: '1 seconds? *int64', toJSON: (fields) => instant(fields, '') }],
  ['MicroTime', { definition: '1 seconds? *int64, 2 nanos int32', toJSON: microTime }],
  ['RawExtension', { definition: '1 raw json', toJSON: ({ raw }) => raw }],
  ['FieldsV1', { definition: '1 raw json', toJSON: ({ raw }) => raw }],
  ['items', { definition: '1 items list string', toJSON: ({ items }) => items ?? [] }],
]);

export function isKubernetesProtobuf(body: Uint8Array): boolean {
  return MAGIC.equals(body.subarray(0, MAGIC.length));
}

/**
 * Unknown fields are dropped, as by an older API server.
 *
 * @returns undefined if the kind is not built in
 * @throws SyntaxError with a message that repeats nothing of the body
 */
export function decodeObject(body: Uint8Array): JSONObject | undefined {
  if (!isKubernetesProtobuf(body))
    throw new SyntaxError('provided data does not appear to be a protobuf message');
  try {
    return decodeEnvelope(body.subarray(MAGIC.length));
  } catch (cause) {
    if (cause instanceof SyntaxError) throw cause;
    throw new SyntaxError('proto: cannot parse invalid wire-format data', { cause });
  }
}

function decodeEnvelope(bytes: Uint8Array): JSONObject | undefined {
  const decoder = new Decoder();
  const { type, raw } = decoder.object(ENVELOPE, bytes);
  if (!isJSONObject(type) || !(raw instanceof Uint8Array)) return undefined;
  const { kind, apiVersion } = type;
  if (kind === '') throw new SyntaxError("Object 'Kind' is missing");
  const message = ownValue(ownValue(KINDS, String(apiVersion)) ?? {}, String(kind));
  return message === undefined
    ? undefined
    : { kind, apiVersion, ...decoder.object(MESSAGES[message] ?? '', raw) };
}

/** Decodes one object. Its values are counted, since a short message can stand for very many. */
class Decoder {
  #values = 0;

  /** The depth of the recursion is bounded by the definitions: no message contains itself. */
  object(definition: Definition, bytes: Uint8Array): JSONObject {
    const fields = fieldsOf(definition);
    const found = new Map<Field, unknown[]>();
    const reader = new BinaryReader(bytes, (text) => UTF8.decode(text));
    while (reader.pos < reader.len) {
      this.#count(1);
      const [number, wireType] = reader.tag();
      const field = fields.get(number);
      if (field === undefined) reader.skip(wireType, number);
      else {
        const value = this.#read(field, wireType, reader);
        const values = found.get(field);
        if (values === undefined) found.set(field, [value]);
        else values.push(value);
      }
    }
    return Object.fromEntries(
      [...fields.values()].flatMap((field) => this.#members(field, found.get(field))),
    );
  }

  #read({ name, many, type }: Field, wireType: WireType, reader: BinaryReader): unknown {
    const expected = many !== 'map' && VARINTS.has(type) ? WireType.Varint : WireType.LengthDelimited;
    if (wireType !== expected) throw new SyntaxError(`proto: wrong wireType = ${wireType} for field ${name}`);
    return many === 'map'
      ? this.object(`1 key string, 2 value ${type}`, reader.bytes())
      : this.#value(type, reader);
  }

  #value(type: string, reader: BinaryReader): unknown {
    switch (type) {
      case 'bool':
        return reader.bool();
      case 'int32':
        return reader.int32();
      case 'int64':
        return exact(Number(reader.int64()));
      case 'string':
        return reader.string(true);
      case 'bytes':
        return Buffer.from(reader.bytes()).toString('base64');
      case 'raw':
        return reader.bytes();
      case 'json':
        return this.#json(reader.bytes());
      default:
        return this.#message(type, reader.bytes());
    }
  }

  #message(type: string, bytes: Uint8Array): unknown {
    const own = OWN_JSON.get(type);
    return own === undefined
      ? this.object(MESSAGES[type] ?? '', bytes)
      : own.toJSON(this.object(own.definition, bytes));
  }

  /** What the field becomes in JSON. */
  #members(field: Field, found: readonly unknown[] | undefined): [string, unknown][] {
    const { name, isOmittedIfEmpty, isPointer } = field;
    const value = this.#combined(field, found);
    if (name === '') return isJSONObject(value) ? Object.entries(value) : [];
    const isAbsent = isPointer ? found === undefined : EMPTY.has(value);
    return isOmittedIfEmpty && isAbsent ? [] : [[name, value]];
  }

  #combined({ many, type, isPointer }: Field, found: readonly unknown[] | undefined): unknown {
    if (many === 'list') return found ?? null;
    if (many === 'map')
      return found === undefined
        ? null
        : Object.fromEntries(found.filter(isJSONObject).map(({ key, value }) => [String(key), value]));
    if (found !== undefined) return found.at(-1);
    return isPointer ? null : this.#zero(type);
  }

  #zero(type: string): unknown {
    this.#count(1);
    switch (type) {
      case 'bool':
        return false;
      case 'int32':
      case 'int64':
        return 0;
      case 'string':
      case 'bytes':
        return '';
      case 'raw':
        return NOTHING;
      case 'json':
        return null;
      default:
        return this.#message(type, NOTHING);
    }
  }

  #json(bytes: Uint8Array): unknown {
    // Each value takes two bytes at least.
    this.#count(bytes.length / 2);
    const value = parseStrictJSON(bytes, { depth: JSON_DEPTH, nodes: MAX_VALUES });
    assertExact(value);
    return value;
  }

  #count(values: number): void {
    this.#values += values;
    if (this.#values > MAX_VALUES) throw new SyntaxError('it holds too many values');
  }
}

/** Parsed when they are needed first. */
const parsed = new Map<Definition, ReadonlyMap<number, Field>>();
const FIELD = /^(\d+) ([^ ?]*)(\?)? (?:(list|map) )?(\*)?(\w+)$/;

function fieldsOf(definition: Definition): ReadonlyMap<number, Field> {
  const known = parsed.get(definition);
  if (known !== undefined) return known;
  const fields = new Map(definition === '' ? [] : definition.split(', ').map(parseField));
  parsed.set(definition, fields);
  return fields;
}

function parseField(text: string): [number: number, Field] {
  const [, number, name = '', optional, many, pointer, type = ''] = FIELD.exec(text) ?? [];
  return [
    Number(number),
    {
      name,
      isOmittedIfEmpty: optional !== undefined,
      many: many === 'list' || many === 'map' ? many : undefined,
      isPointer: pointer !== undefined,
      type,
    },
  ];
}

function exact(value: number): number {
  if (isExactNumber(value)) return value;
  throw new SyntaxError('a number is beyond 2^53: send JSON');
}

function assertExact(value: unknown): void {
  if (typeof value === 'number') exact(value);
  else if (typeof value === 'object' && value !== null) Object.values(value).forEach(assertExact);
}

function intOrString({ type, int, string }: JSONObject): unknown {
  if (type === 0) return int;
  if (type === 1) return string;
  throw new SyntaxError('impossible IntOrString.Type');
}

function microTime(fields: JSONObject): string | null {
  const nanos = Number(fields.nanos);
  if (nanos < 0 || nanos >= 1e9) throw new SyntaxError('a time is out of range');
  return instant(fields, `.${String(Math.floor(nanos / 1_000)).padStart(6, '0')}`);
}

/** @returns RFC 3339; null if there is none */
function instant({ seconds = YEAR_1 }: JSONObject, fraction: string): string | null {
  const whole = Number(seconds);
  if (whole === YEAR_1) return null;
  if (whole > YEAR_1 && whole < YEAR_10000) return timestamp(whole * 1_000).replace('Z', `${fraction}Z`);
  throw new SyntaxError('a time is out of range');
}

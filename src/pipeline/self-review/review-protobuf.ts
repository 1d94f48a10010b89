/**
 * Reads access reviews that come as protobuf: kubectl sends them so from 1.32 on, and does not fall back to
 * JSON. Only the fields that may be asked about are known here; every other is skipped.
 * Field numbers: k8s.io/api/authorization/v1/generated.proto
 */
import { isJSONObject } from '../../lib/json-object.ts';
import { decodeObject, type Field, type Fields, type Message } from '../../lib/kubernetes-protobuf.ts';

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
  return decodeObject(body, new Map([[SPEC, ['spec', SPECS[review]]]]));
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

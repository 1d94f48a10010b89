/**
 * The conditions of an object that say whether what it asks for is in force. Pure.
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
 */
import { z } from 'zod';
import type { StoredObject } from '../kubernetes/kubernetes-object.ts';
import { timestamp } from '../lib/go-time.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Output } from '../lib/schema-fields.ts';

/** https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition */
export const conditionSchema = z.strictObject({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string().meta({ format: 'date-time' }),
  observedGeneration: z.int().exactOptional(),
});

export type Condition = Output<typeof conditionSchema>;

const READY = 'Ready';

/**
 * @param now milliseconds since the epoch
 * @returns the conditions of the object; undefined if they say it already
 */
export function conditionsWith(
  { metadata, status: written }: Pick<StoredObject, 'metadata'> & { readonly status?: unknown },
  { ready, reason, message }: { readonly ready: boolean; readonly reason: string; readonly message: string },
  now: number,
): readonly Condition[] | undefined {
  const { generation } = metadata;
  const before = readyIn(written);
  const status = ready ? 'True' : 'False';
  const isSame =
    before?.status === status &&
    before.reason === reason &&
    before.message === message &&
    before.observedGeneration === generation;
  if (isSame) return undefined;
  const condition: Condition = {
    type: READY,
    status,
    reason,
    message,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : timestamp(now),
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  return [condition];
}

const isCondition = (value: unknown): value is Condition => conditionSchema.safeParse(value).success;

/** Another client may have written anything else. */
function readyIn(status: unknown): Condition | undefined {
  const conditions: unknown = isJSONObject(status) ? status.conditions : undefined;
  return Array.isArray(conditions)
    ? conditions.filter(isCondition).find(({ type }) => type === READY)
    : undefined;
}

/**
 * Usage records: one JSON line for each tenant and project with activity in a minute, and a heartbeat at the
 * end of each minute. The lines of a process are numbered, so that a reader notices lost lines and ignores
 * those that it has read before.
 */
import { z } from 'zod';

/** What is measured, in the units of the names. All are sums, so records can be added up. */
export const MEASURES = [
  ...(['getRequests', 'listRequests', 'watchRequests', 'writeRequests', 'connectRequests'] as const),
  ...(['refusals', 'receivedBytes', 'sentBytes', 'streamSeconds'] as const),
  ...(['requestedCpuSeconds', 'requestedMemoryByteSeconds', 'podSeconds', 'storageByteSeconds'] as const),
] as const;

export type Usage = Record<(typeof MEASURES)[number], number>;

/** Stands for the tenant or project that a request does not have: no real one has this name or id. */
export const NONE = '-';
/** The project, of the tenant `NONE`, to which all is charged that exceeds a bound. */
export const OTHER = 'other';

export interface ProjectUsage {
  readonly tenant: string;
  /** Keystone's id. */
  readonly project: string;
  readonly usage: Readonly<Partial<Usage>>;
}

const NOTHING: Readonly<Usage> = {
  ...{ getRequests: 0, listRequests: 0, watchRequests: 0, writeRequests: 0, connectRequests: 0 },
  ...{ refusals: 0, receivedBytes: 0, sentBytes: 0, streamSeconds: 0 },
  ...{ requestedCpuSeconds: 0, requestedMemoryByteSeconds: 0, podSeconds: 0, storageByteSeconds: 0 },
};

export function noUsage(): Usage {
  return { ...NOTHING };
}

export function addUsage(sum: Usage, more: Readonly<Partial<Usage>>): void {
  for (const measure of MEASURES) sum[measure] += more[measure] ?? 0;
}

/** What is zero is absent. */
export const amountsSchema = z.partialRecord(z.enum(MEASURES), z.number().min(0));

export const API_VERSION = 'stonegate.dev/v1alpha1';
const instant = z.iso.datetime();
const members = {
  apiVersion: z.literal(API_VERSION),
  /** Made of `process` and `sequence`. */
  id: z.string(),
  process: z.string().min(1),
  /** From 1 on, without a gap. */
  sequence: z.int().min(1),
  from: instant,
  to: instant,
};

export const usageLineSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('UsageRecord'),
    ...members,
    tenant: z.string(),
    project: z.string(),
    usage: amountsSchema,
  }),
  z.strictObject({
    kind: z.literal('UsageHeartbeat'),
    ...members,
    /** The last line of a process that has ended in good order. */
    final: z.literal(true).exactOptional(),
  }),
]);

export type UsageLine = z.output<typeof usageLineSchema>;

/** What the objects of a project request at one moment. */
export interface RequestedTotals {
  readonly tenant: string;
  /** Keystone's id; empty if there is none. */
  readonly project: string;
  readonly cpuCores: number;
  readonly memoryBytes: number;
  readonly pods: number;
  readonly storageBytes: number;
}

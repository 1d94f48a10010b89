/**
 * What was admitted for one object and may not be counted yet. A TenantQuota holds each as a line of text:
 * for a list in a custom resource the API server needs several times the CPU.
 */
import { hash } from 'node:crypto';
import { metadataOf } from '../../kubernetes/object-format.ts';
import { formatQuantity, parseQuantity } from '../../kubernetes/quantity.ts';
import type { Usage } from '../../kubernetes/resource-quota/usage.ts';

/** Where the API server has the object, or will have it. */
export interface ReservedObject {
  /** Such as `pods`, `deployments.apps`. */
  readonly resource: string;
  /** Empty for a namespace. */
  readonly namespace: string;
  readonly name: string;
}

export interface ReservationContent {
  /** Identifies the object, also in a repeated review and in a later update: see `objectID`. */
  readonly id: string;
  /** Differs from that of every earlier reservation: the resourceVersion on which it was written. */
  readonly mark: string;
  /** The largest revision of the object at which it was reviewed; 0 for a new object. */
  readonly revision: number;
  readonly object: ReservedObject;
  /** All that the object uses of what is limited when it is stored. */
  readonly usage: Usage;
  /** What of it is counted in `used`. */
  readonly seen: Usage;
}

export interface Reservation extends ReservationContent {
  readonly line: string;
}

/** No object has this name: a replica has reserved for objects that it has not seen yet. */
export const ANY_NAME = '/';

/** Stands for a revision that is not known: no revision of the object proves that it was stored. */
export const UNKNOWN_REVISION = Number.MAX_SAFE_INTEGER;

/**
 * @returns by what a reservation and its object are recognized. On Arktos clients may choose UIDs, and give
 *   many objects the same.
 */
export function objectID(tenant: string, namespace: string, name: string, uid: string): string {
  return hash('sha256', JSON.stringify([tenant, namespace, name, uid]), 'base64url').slice(0, 22);
}

/** @returns the id of an object that is stored or will be; undefined for anything else */
export function objectIDOf(object: unknown): string | undefined {
  const { tenant = '', namespace = '', name = '', uid } = metadataOf(object);
  return typeof uid === 'string' ? objectID(String(tenant), String(namespace), String(name), uid) : undefined;
}

export function createReservation(content: ReservationContent): Reservation {
  const { id, mark, revision, object, usage, seen } = content;
  const { resource, namespace, name } = object;
  const words = [id, mark, String(revision), resource, namespace, name].map(encodeText);
  return { ...content, line: [...words, encodeUsage(usage), encodeUsage(seen)].join(' ') };
}

/** @returns undefined for what is no line of a reservation */
export function readReservation(line: string): Reservation | undefined {
  const fields = line.split(' ');
  const [id, mark, revision, resource, namespace, name] = fields.map(decodeText);
  const [usage, seen] = fields.slice(6).map(decodeUsage);
  if (!id || !mark || !resource || namespace === undefined || !name || !usage || !seen) return undefined;
  if (fields.length !== 8 || !Number.isSafeInteger(Number(revision))) return undefined;
  return { id, mark, revision: Number(revision), object: { resource, namespace, name }, usage, seen, line };
}

/** What identifies a reservation and its mark, without reading the rest of the line. */
export function markOf(line: string): string {
  return line.split(' ', 2).join(' ');
}

function encodeText(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function decodeText(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // Another client wrote it.
    return undefined;
  }
}

function encodeUsage(usage: Usage): string {
  return [...usage]
    .map(([resource, amount]) => `${encodeText(resource)}=${formatQuantity(amount, 'decimal')}`)
    .join();
}

function decodeUsage(text: string): Usage | undefined {
  const usage = new Map<string, bigint>();
  for (const one of text === '' ? [] : text.split(',')) {
    const [name = '', quantity] = one.split('=');
    const [resource, amount] = [decodeText(name), parseQuantity(quantity)];
    if (resource === undefined || amount === undefined) return undefined;
    usage.set(resource, amount);
  }
  return usage;
}

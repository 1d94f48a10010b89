/**
 * Bounds the memory of request bodies that are held whole while they are inspected: in total, and for each tenant, so
 * that no tenant takes what the others need.
 */
import type { TenantName } from '../api/identity.ts';
import { StatusError } from '../errors/status-error.ts';

export interface BodyMemoryOptions {
  readonly totalBytes: number;
  readonly tenantBytes: number;
}

export interface BodyMemory {
  /**
   * @returns gives the memory back; has an effect once
   * @throws StatusError TenantRateExceeded if the tenant, or all tenants together, hold too much
   */
  reserve(tenant: TenantName, bytes: number): () => void;
}

export function createBodyMemory({ totalBytes, tenantBytes }: BodyMemoryOptions): BodyMemory {
  const held = new Map<TenantName, number>();
  let total = 0;

  function add(tenant: TenantName, bytes: number): void {
    const sum = (held.get(tenant) ?? 0) + bytes;
    if (sum === 0) held.delete(tenant);
    else held.set(tenant, sum);
    total += bytes;
  }

  return {
    reserve(tenant, bytes) {
      if ((held.get(tenant) ?? 0) + bytes > tenantBytes || total + bytes > totalBytes) {
        throw new StatusError(
          'TenantRateExceeded',
          'too many requests with a body to inspect are under way; try again later',
        );
      }
      add(tenant, bytes);
      let released = false;
      return () => {
        if (released) return;
        released = true;
        add(tenant, -bytes);
      };
    },
  };
}

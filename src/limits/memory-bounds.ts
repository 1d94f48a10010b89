/**
 * Bounds of what clients and tenants can make one process hold, in bytes. Together with the process itself
 * they fit into the chart's memory limit, during a reload too; docs/reference/memory.md lists them, and
 * `test/repository/memory.test.ts` adds them up.
 */

const MEBIBYTE = 1024 * 1024;

interface SharedBound {
  readonly total: number;
  /** The bound of one tenant, one address, or Stonegate itself. */
  readonly perKey: number;
}

/** Requests of a tenant that wait for a connection to the API server; the default of `limits.tenantQueue`. */
export const TENANT_QUEUE_BYTES = 2 * MEBIBYTE;
/** All queues of one kind together hold so many times as much as one. */
export const TENANT_QUEUES = 16;
/** The queues of guests together hold so many times as much as a tenant's; each holds a quarter. */
export const GUEST_QUEUES = 4;
/** The queues of writes that Arktos has reviewed together hold so many times as much as one. */
export const REVIEWED_WRITE_QUEUES = 4;
/** The window of an HTTP/2 stream: bytes of a body that a client may send before they are read. */
export const STREAM_WINDOW = 128 * 1024;
/** The longest response that Stonegate reads for itself. */
export const MAX_READ_RESPONSE = 16 * MEBIBYTE;
/** All that it reads at the same time. */
export const READ_RESPONSES: SharedBound = { total: 64 * MEBIBYTE, perKey: 32 * MEBIBYTE };
/** The longest merged list of all namespaces. */
export const MAX_MERGED_LIST = 32 * MEBIBYTE;
/** What a merged list may take before its turn; larger ones leave as much to the tenant's others. */
export const SMALL_MERGED_LIST = 2 * MEBIBYTE;
/** Responses that Stonegate makes itself, until their clients have read them. */
export const MADE_RESPONSES: SharedBound = {
  total: 96 * MEBIBYTE,
  perKey: MAX_MERGED_LIST + SMALL_MERGED_LIST,
};
/** The RBAC index; the default of `access.maxIndexBytes`. */
export const INDEX_BYTES = 96 * MEBIBYTE;
/** Bodies that Stonegate reads, to inspect them or to respond to the requests itself. */
export const INSPECTED_BODIES: SharedBound = { total: 32 * MEBIBYTE, perKey: 8 * MEBIBYTE };
/** Discovery documents of tenants: a few forms of the large OpenAPI document beside all small ones. */
export const TENANT_DISCOVERY_BYTES = 32 * MEBIBYTE;
/** Discovery documents of the system tenant. */
export const SYSTEM_DISCOVERY_BYTES = 16 * MEBIBYTE;
/** Names of namespaces that users may see, and their last changes. */
export const VISIBLE_NAMES_BYTES = 64 * MEBIBYTE;
/** Compiled access rules of users. */
export const ACCESS_RULES_BYTES = 32 * MEBIBYTE;
/** TenantQuotas as this process last wrote or read them. */
export const QUOTA_LEDGERS_BYTES = 32 * MEBIBYTE;
/** Audit lines that are not written yet. */
export const AUDIT_BYTES = 32 * MEBIBYTE;
/** Connections that wait for the rest of a request head; each holds up to 256 KiB. */
export const MAX_UNFINISHED_HEADS = 512;

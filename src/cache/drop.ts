/**
 * Dropping what is cached of a user or a tenant, in all replicas, and ending their long-running requests: for an
 * operator who took a right away and does not want to wait for the entries to end.
 */
import {
  endStreamsOfTenantTag,
  endStreamsOfUserTag,
  SWITCHED_OFF_TAG,
  tenantTag,
  userTag,
} from '../lib/drop-tags.ts';
import type { SharedCache } from './shared-cache.ts';

/** Exactly one of them. */
export type DropTarget = { readonly user: string } | { readonly tenant: string };

/**
 * @param target a user by name or id, or a tenant, as the entries are tagged
 * @throws Error where Redis does not take it; its message is for the operator
 */
export function drop(shared: SharedCache, target: DropTarget): Promise<void> {
  const tags =
    'user' in target
      ? [userTag(target.user), endStreamsOfUserTag(target.user)]
      : [tenantTag(target.tenant), endStreamsOfTenantTag(target.tenant)];
  return shared.drop([...tags, SWITCHED_OFF_TAG]);
}

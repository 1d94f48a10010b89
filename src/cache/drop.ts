/**
 * Dropping what is cached of a user or a tenant, in all replicas: for an operator who took a right away and does
 * not want to wait for the entries to end.
 */
import { SWITCHED_OFF_TAG, tenantTag, userTag } from '../lib/drop-tags.ts';
import type { SharedCache } from './shared-cache.ts';

/** Exactly one of them. */
export type DropTarget = { readonly user: string } | { readonly tenant: string };

/**
 * @param target a user by name or id, or a tenant, as the entries are tagged
 * @throws Error where Redis does not take it; its message is for the operator
 */
export function drop(shared: SharedCache, target: DropTarget): Promise<void> {
  return shared.drop(['user' in target ? userTag(target.user) : tenantTag(target.tenant), SWITCHED_OFF_TAG]);
}

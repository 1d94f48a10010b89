/**
 * Gives a role in a namespace as the user who asks, unless it would be given without effect, or with more
 * effect than it seems to have.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { type Clock, waitUntil } from '../../lib/clock.ts';
import { invalidObject } from '../../proxy/own-body.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { assertMayHaveMembers } from '../may-have-members.ts';
import { addBinding, type BindingWriter } from './change-members.ts';
import { clusterRoleOf, type FoundMember, isLevel } from './members.ts';

export interface RoleGivingOptions {
  readonly mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>;
  readonly access: AccessIndex;
  readonly clock: Clock;
}

interface GivenRole {
  readonly member: Pick<FoundMember, 'id' | 'key'>;
  /** Its word, or the name of a ClusterRole. */
  readonly role: string;
  readonly tenant: TenantName;
  /** The kind of the object in which the user named the role. */
  readonly kind: 'Member' | 'Invitation';
}

/** Milliseconds in which the index learns of a role that was just made. */
const ROLE_WAIT = 3_000;

/**
 * @throws StatusError AccessDenied in the system tenant; ObjectInvalid for a role that cannot be given in the
 *   tenant; NotFound for one that the tenant does not have; what `addBinding` throws
 */
export async function giveRole(
  { member, role, tenant, kind }: GivenRole,
  writer: BindingWriter,
  { mode, access, clock }: RoleGivingOptions,
  signal: AbortSignal,
): Promise<void> {
  assertMayHaveMembers(tenant, mode);
  const home = mode.reviewTenant(tenant) ?? '';
  if (home !== '' && !isLevel(role))
    throw invalidObject(kind, 'spec.role', 'only read, control, edit and manage can be granted');
  const name = clusterRoleOf(role);
  const isKnown = () =>
    access.state(home) !== 'current' || access.index.objectsOf(home).role('', name) !== undefined;
  if (!isKnown()) {
    // Who may give no role is told so first. The API server lets who has the right `bind` bind what is not
    // there.
    await addBinding(member, role, { ...writer, dryRun: true });
    if (!(await waitUntil(isKnown, clock, ROLE_WAIT, signal)))
      throw new StatusError('NotFound', `there is no ClusterRole ${JSON.stringify(name)}`);
  }
  await addBinding(member, role, writer);
}

/**
 * The subject of an AccessRulesReview, bounded by the caller's tenant. All refusals are the same, so that
 * they do not reveal whether a token is invalid, belongs to another tenant, or a name is reserved.
 */

import { StatusError } from '../../errors/status-error.ts';
import { type Authenticator, runAuthenticators } from '../../identity/authenticator.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { AUTHENTICATED } from '../../kubernetes/reserved-names.ts';
import type { AccessSubjects } from '../../proxy/access-subject.ts';
import { kubernetesIdentity } from '../../proxy/identity-source.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { type SubjectByNamespace, uniformSubject } from '../../rbac/attributes.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { isTenantName } from '../../tenancy/tenant-name.ts';
import type { NamedSubject, ReviewedSubject } from './rules-request.ts';

interface FoundSubject {
  readonly username: string;
  readonly uid: string;
  readonly subject: SubjectByNamespace;
  /** When the credential expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface ReviewedSubjectOptions {
  readonly authenticators: readonly Authenticator[];
  readonly mode: TenancyMode;
  readonly subjects: Pick<AccessSubjects, 'subjectOf'>;
}

/** @throws StatusError AccessDenied; and what a backend that is down, or a limit, throws */
export async function findReviewedSubject(
  asked: ReviewedSubject,
  caller: Outgoing,
  options: ReviewedSubjectOptions,
): Promise<FoundSubject> {
  try {
    return 'token' in asked
      ? await ofToken(asked.token, caller, options)
      : ofName(asked, caller, options.mode);
  } catch (error) {
    // The remaining errors are limits and backends that are down.
    if (error instanceof StatusError && (error.http === 401 || error.http === 403)) throw refusal();
    throw error;
  }
}

async function ofToken(
  token: string,
  caller: Outgoing,
  { authenticators, mode, subjects }: ReviewedSubjectOptions,
): Promise<FoundSubject> {
  // One account for all services of a tenant: their tokens do not use up the limit of an address.
  const source = `reviews of ${caller.tenant}`;
  const identity = await runAuthenticators(authenticators, { kind: 'bearer', token }, { source });
  const { tenant, user } = kubernetesIdentity(identity, mode);
  if (tenant !== caller.tenant && !mode.isSystem(caller.tenant)) throw refusal();
  const asked = { proven: identity, info: caller.info, tenant, user };
  return {
    username: user.username,
    uid: user.uid,
    subject: await subjects.subjectOf(asked),
    expiresAt: identity.expiresAt,
  };
}

function ofName(asked: NamedSubject, caller: Outgoing, mode: TenancyMode): FoundSubject {
  const { username, groups } = asked;
  const tenant = mode.isSystem(caller.tenant) ? tenantIn(username) : ownTenant(asked, caller, mode);
  const subject = uniformSubject({
    tenant: mode.reviewTenant(tenant) ?? '',
    username,
    groups,
    home: tenant,
  });
  return { username, uid: '', subject, expiresAt: Number.POSITIVE_INFINITY };
}

/** Arktos reads a user's tenant so: what stands before the first colon. */
function tenantIn(username: string): TenantName {
  const [word = '', ...rest] = username.split(':');
  if (rest.length === 0 || !isTenantName(word)) throw refusal();
  return word;
}

/** @throws StatusError AccessDenied for any other than the caller's; and as `impersonationTarget` does */
function ownTenant({ username, groups }: NamedSubject, caller: Outgoing, mode: TenancyMode): TenantName {
  const { tenant } = caller;
  const target = mode.impersonationTarget(username, tenant);
  // Without the tenant's prefix it would be another user's name.
  if (target.username !== username || target.serviceAccount !== undefined) throw refusal();
  const isInTenant = mode.reviewTenant(tenant) !== undefined;
  const known = new Set([AUTHENTICATED, ...target.groups, ...caller.user.groups]);
  for (const group of groups) {
    // Any other group in a cluster without tenants may be another tenant's.
    const isAllowed = known.has(group) || (isInTenant && !group.startsWith('system:'));
    if (!isAllowed) throw refusal();
  }
  return tenant;
}

/** The refusal has no cause: the log does not distinguish the reasons either. */
function refusal(): StatusError {
  return new StatusError('AccessDenied', 'the access rules of this subject cannot be reviewed');
}

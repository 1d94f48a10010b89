/**
 * Gives what invitations are to, with the rights of the inviter: a role by a RoleBinding that is written as
 * the inviter, and a place in a team by a change that the inviter may make.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { ResourceQuestion } from '../../kubernetes/authorizer-attributes.ts';
import type { IdentityRequests, RequestOrigin } from '../../proxy/as-identity.ts';
import { OWN_GROUP } from '../../proxy/own-api.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import { subjectIn } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { MembersService } from '../members/feature.ts';
import type { Teams } from '../teams/feature.ts';
import type { Target } from './invitation-v1alpha1.ts';

export interface InvitationTargetsOptions {
  readonly mode: Pick<TenancyMode, 'tenantOf' | 'reviewTenant'>;
  readonly requests: Pick<IdentityRequests, 'subjectOf'>;
  readonly access: AccessIndex;
  readonly members: Pick<MembersService, 'grant'>;
  readonly teams: Pick<Teams, 'callerOf' | 'list' | 'get' | 'update'>;
}

/** The request that is the reason for what is done. */
export interface InvitationRequest {
  readonly origin: RequestOrigin;
  readonly signal: AbortSignal;
}

type Giving = InvitationRequest & { readonly dryRun: boolean };

export type InvitationTargets = ReturnType<typeof createInvitationTargets>;

/** How often a team is changed that another user changes too. */
const ATTEMPTS = 4;

export function createInvitationTargets({
  mode,
  requests,
  access,
  members,
  teams,
}: InvitationTargetsOptions) {
  const homeOf = (identity: Identity) => mode.reviewTenant(mode.tenantOf(identity)) ?? '';

  async function giveMembership(
    inviter: Identity,
    team: string,
    username: string,
    { signal, dryRun: isDryRun }: Giving,
  ): Promise<void> {
    const caller = { ...(await teams.callerOf(inviter)), signal };
    for (let attempt = 1; ; attempt += 1) {
      const { metadata, spec } = await teams.get(caller, team);
      const { resourceVersion } = metadata;
      const change = { ...spec, members: [...spec.members, username] };
      try {
        await teams.update(caller, { name: team, spec: change, resourceVersion, isDryRun });
        return;
      } catch (error) {
        const isConflict = error instanceof StatusError && error.code === 'Conflict';
        if (!isConflict || attempt === ATTEMPTS) throw error;
      }
    }
  }

  return {
    /**
     * Gives it to the user with the rights of the inviter; a dry run only checks whether that can be done.
     *
     * @throws StatusError with what refuses it
     */
    give: (inviter: Identity, target: Target, username: string, request: Giving): Promise<void> =>
      'team' in target
        ? giveMembership(inviter, target.team, username, request)
        : members.grant(inviter, { ...target, username }, request),
    /** Whether the user's credential may give it, or read who has it: an access token may do less. */
    isInScope(identity: Identity, target: Target, verb: 'give' | 'get'): boolean {
      const giving = givingQuestion(target, homeOf(identity));
      return identity.accessToken?.allows(verb === 'give' ? giving : { ...giving, verb }) ?? true;
    },
    /** Which targets the user may give. */
    async givenBy(identity: Identity): Promise<(target: Target) => boolean> {
      const home = homeOf(identity);
      const subject = await requests.subjectOf(identity);
      const caller = await teams.callerOf(identity);
      const ofUser = await teams.list(caller);
      const managed = new Set(
        ofUser.flatMap(({ metadata, spec }) =>
          spec.managers.includes(caller.user.username) ? [metadata.name] : [],
        ),
      );
      return (target) => {
        if ('team' in target && managed.has(target.team)) return true;
        if (access.state(home) !== 'current') return false;
        const question = givingQuestion(target, home);
        return allows(access.index, subjectIn(subject, question.namespace), question);
      };
    },
  };
}

/** The request that gives it. */
function givingQuestion(target: Target, tenant: string): ResourceQuestion {
  const common = { subresource: '', tenant };
  return 'team' in target
    ? { ...common, verb: 'update', apiGroup: OWN_GROUP, resource: 'teams', namespace: '', name: target.team }
    : {
        ...common,
        ...{ verb: 'create', apiGroup: 'rbac.authorization.k8s.io', resource: 'rolebindings' },
        ...{ namespace: target.namespace, name: '' },
      };
}

/**
 * Answers a TokenReview with Keystone. A refused token is a response with `authenticated: false`, which the
 * API server may cache; a failure to validate is an error, which it does not cache.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { IdentitySource } from '../../proxy/identity-source.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { KeystoneSync, Live, ProjectMember } from '../bindings/feature.ts';
import type { TokenReviewStatus } from './review.ts';
import { applyRoleMappings, legacyUser, projectMember, projectOf, qualifiedUser } from './reviewed-user.ts';

/**
 * The names of the user's groups in Keystone, requested with the user's own token.
 *
 * @throws StatusError KeystoneUnavailable, CredentialInvalid
 */
export type GroupNames = (identity: Identity, token: string) => Promise<readonly string[]>;

export interface TokenReviewerOptions {
  /** The Keystone authenticator, without any other. */
  readonly identities: IdentitySource;
  /** Given if user names are legacy names (`webhook.usernames`). */
  readonly groupNames: GroupNames | undefined;
  /** Given if there is a synchronisation file. */
  readonly rules: Live<KeystoneSync> | undefined;
  /** Creates missing objects in the background. Never throws; failures are logged. */
  readonly sync: ((member: ProjectMember) => void) | undefined;
}

/**
 * @param source the API server's address
 * @throws StatusError if the token cannot be validated: KeystoneUnavailable, CredentialRateExceeded, …
 */
export type TokenReviewer = (token: string, source: string) => Promise<TokenReviewStatus>;

export function createTokenReviewer(options: TokenReviewerOptions): TokenReviewer {
  return async (token, source) => {
    try {
      const identity = await options.identities.authenticate({ kind: 'bearer', token }, source);
      return { authenticated: true, user: await userOf(identity, token, options) };
    } catch (error) {
      return refusal(error);
    }
  };
}

async function userOf(identity: Identity, token: string, options: TokenReviewerOptions): Promise<UserInfo> {
  const { rules, sync } = options;
  const project = projectOf(identity);
  const { tenant, user } = await kubernetesUser(identity, token, project.id, options);
  if (rules === undefined) return user;
  if (rules.current === undefined) {
    throw new StatusError('WebhookRulesUnavailable', 'the synchronisation rules have not been read yet');
  }
  const reviewed = applyRoleMappings(user, project.roles, rules.current);
  const member = projectMember(identity, project, reviewed.username, tenant);
  if (member !== undefined) sync?.(member);
  return reviewed;
}

async function kubernetesUser(
  identity: Identity,
  token: string,
  projectID: string,
  { identities, groupNames }: TokenReviewerOptions,
): Promise<{ readonly user: UserInfo; readonly tenant?: TenantName }> {
  // A legacy name has no tenant, so the domain need not map to one.
  if (groupNames !== undefined) {
    return { user: legacyUser(identity, await groupNames(identity, token), projectID) };
  }
  const { tenant, user } = identities.describe(identity);
  return { tenant, user: qualifiedUser(user, projectID) };
}

/** @throws the error if it is not a refusal of the token */
function refusal(error: unknown): TokenReviewStatus {
  if (!(error instanceof StatusError)) throw error;
  if (error.http === 401) return { authenticated: false };
  if (error.http === 403) return { authenticated: false, error: error.message };
  throw error;
}

/**
 * Requests a user's group names once for each validated token: as long as its cached identity lives.
 *
 * @param list calls Keystone; a failure is not cached
 */
export function createGroupNames(
  list: (userID: string, token: string) => Promise<readonly string[]>,
): GroupNames {
  const lists = new WeakMap<Identity, Promise<readonly string[]>>();
  return (identity, token) => {
    const cached = lists.get(identity);
    if (cached !== undefined) return cached;
    const names = list(identity.uid, token);
    lists.set(identity, names);
    names.catch(() => lists.delete(identity));
    return names;
  };
}

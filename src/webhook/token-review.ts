/**
 * Answers whether Keystone vouches for a token, and whose it is. A token that is no good is an answer; that nobody
 * could find out is an error, and no "no": the API server would keep that for minutes.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { KeystoneSync } from '../api/keystone-auth.ts';
import { StatusError } from '../errors/status-error.ts';
import type { GroupNames, KeystoneIdentities, Live, ProjectSync } from './ports.ts';
import type { TokenReviewStatus } from './review.ts';
import { legacyUser, mapped, memberOf, projectOf, qualifiedUser } from './reviewed-user.ts';

export interface TokenReviewerOptions {
  readonly identities: KeystoneIdentities;
  /** Given where people are called by their bare names. */
  readonly legacy: GroupNames | undefined;
  /** Given where there is a synchronisation file. */
  readonly rules: Live<KeystoneSync> | undefined;
  readonly sync: ProjectSync;
}

export interface TokenReviewer {
  /**
   * @param source the API server's address
   * @throws StatusError for what is not about the token: KeystoneUnavailable, CredentialRateExceeded, …
   */
  review(token: string, source: string): Promise<TokenReviewStatus>;
}

export function createTokenReviewer(options: TokenReviewerOptions): TokenReviewer {
  return {
    async review(token, source) {
      try {
        const identity = await options.identities.authenticate(token, source);
        return { authenticated: true, user: await userOf(identity, token, options) };
      } catch (error) {
        return refusal(error);
      }
    },
  };
}

async function userOf(identity: Identity, token: string, options: TokenReviewerOptions): Promise<UserInfo> {
  const { rules, sync } = options;
  const project = projectOf(identity);
  const { tenant, user } = await knownAs(identity, token, project.id, options);
  if (rules === undefined) return user;
  if (rules.current === undefined) {
    throw new StatusError('WebhookRulesUnavailable', 'the synchronisation rules have not been read yet');
  }
  const answered = mapped(user, project.roles, rules.current);
  const member = memberOf(identity, project, answered.username, tenant);
  if (member !== undefined) sync.request(member);
  return answered;
}

async function knownAs(
  identity: Identity,
  token: string,
  projectID: string,
  { identities, legacy }: TokenReviewerOptions,
): Promise<{ readonly user: UserInfo; readonly tenant?: TenantName }> {
  // No tenant is in a bare name: a domain that is none is no hindrance.
  if (legacy !== undefined) {
    return { user: legacyUser(identity, await legacy.of(identity, token), projectID) };
  }
  const { tenant, user } = identities.describe(identity);
  return { tenant, user: qualifiedUser(user, projectID) };
}

/** @throws what is not about the token */
function refusal(error: unknown): TokenReviewStatus {
  if (!(error instanceof StatusError)) throw error;
  if (error.http === 401) return { authenticated: false };
  if (error.http === 403) return { authenticated: false, error: error.message };
  throw error;
}

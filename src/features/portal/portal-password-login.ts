/**
 * The portal's login with a Keystone password: a token, which proves the user's identity, and the projects
 * for which it can be exchanged. It has its own connections, so that a flood of attempts does not delay token
 * validation.
 */

import { createKeystoneHTTP, type KeystoneHTTPOptions } from '../../identity/keystone/keystone-http.ts';
import { type KeystoneLoginScope, listProjects, logIn } from '../../identity/keystone/keystone-login.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { ProjectName } from './portal-storage.ts';

/** The limit of a page and of a session. */
const MAX_PROJECTS = 100;

export interface PasswordSignIn {
  readonly user: string;
  readonly domain: string;
  readonly password: string;
  /** Undefined: Keystone uses the user's default project, or none. */
  readonly project: string | undefined;
}

export type PasswordResult =
  | { readonly token: string; readonly projects: readonly ProjectName[] }
  | { readonly refused: 'wrong' | 'second-factor' };

export type PasswordLogin = ReturnType<typeof createPasswordLogin>;

/** The functions throw a StatusError KeystoneUnavailable. */
export function createPasswordLogin(
  options: KeystoneHTTPOptions & { readonly clock: Clock; readonly logger: Logger },
) {
  const { clock, logger } = options;
  const http = createKeystoneHTTP(options);

  async function projectsOf(token: string, signal: AbortSignal): Promise<ProjectName[]> {
    try {
      return (await listProjects(http, token, signal)).slice(0, MAX_PROJECTS);
    } catch (error) {
      // A failed list does not fail the login.
      logger.warn({ error }, 'portal: the projects of a user could not be listed');
      return [];
    }
  }

  return {
    async signIn(
      { user, domain, password, project }: PasswordSignIn,
      signal: AbortSignal,
    ): Promise<PasswordResult> {
      const inDomain = (name: string) => ({ name, domain: { name: domain } });
      const scope: KeystoneLoginScope | undefined =
        project === undefined ? undefined : { project: inDomain(project) };
      const proof = { method: 'password', user: inDomain(user), password } as const;
      const { issued, ...refusal } = await logIn(http, proof, scope, clock.now());
      if (issued !== undefined) {
        return { token: issued.token, projects: await projectsOf(issued.token, signal) };
      }
      return { refused: 'secondFactors' in refusal ? 'second-factor' : 'wrong' };
    },
    /**
     * Exchanges a token for one of another project of the same user.
     *
     * @returns undefined if Keystone refuses
     */
    async rescope(token: string, projectID: string): Promise<string | undefined> {
      const scope = { project: { id: projectID } };
      const { issued } = await logIn(http, { method: 'token', token }, scope, clock.now());
      return issued?.token;
    },
    close: () => http.close(),
  };
}

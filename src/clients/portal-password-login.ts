/**
 * Signs people in at Keystone with their password, for the portal: a token, which proves who they are and is forgotten,
 * and the projects it could be exchanged for. On connections of its own, so that a flood of tries never stands in the
 * way of tokens that are to be validated.
 */

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { PasswordLogin, ProjectName } from '../portal/ports.ts';
import { createKeystoneHTTP, type KeystoneHTTPOptions } from './keystone-http.ts';
import { type KeystoneLoginScope, listProjects, logIn } from './keystone-login.ts';

/** What a page shows, and a session holds. */
const MAX_PROJECTS = 100;

export interface PortalPasswordLogin extends PasswordLogin {
  close(): Promise<void>;
}

export function createPortalPasswordLogin(
  options: KeystoneHTTPOptions & { readonly clock: Clock; readonly logger: Logger },
): PortalPasswordLogin {
  const { clock, logger } = options;
  const http = createKeystoneHTTP(options);

  async function projectsOf(token: string, signal: AbortSignal): Promise<ProjectName[]> {
    try {
      return (await listProjects(http, token, signal)).slice(0, MAX_PROJECTS);
    } catch (error) {
      // Somebody who has signed in is not turned away for the sake of a list.
      logger.warn({ error }, 'portal: the projects of somebody could not be listed');
      return [];
    }
  }

  return {
    async signIn({ user, domain, password, project }, signal) {
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
    close: () => http.close(),
  };
}

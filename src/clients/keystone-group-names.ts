/**
 * The names of a user's groups, asked for with the user's own token, as k8s-keystone-auth does: a token does not say
 * them. https://docs.openstack.org/api-ref/identity/v3/#list-groups-to-which-a-user-belongs
 */
import { unauthorized } from '../errors/status-error.ts';
import { isJSONObject } from '../lib/json-object.ts';
import { createKeystoneHTTP, type KeystoneHTTPOptions, keystoneUnavailable } from './keystone-http.ts';

export interface KeystoneGroupNames {
  /** @throws StatusError CredentialInvalid for a token that has died meanwhile, KeystoneUnavailable */
  list(userID: string, token: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

export function createKeystoneGroupNames(options: KeystoneHTTPOptions): KeystoneGroupNames {
  const http = createKeystoneHTTP(options);
  return {
    async list(userID, token) {
      const { status, body } = await http.exchange({
        method: 'GET',
        path: `/users/${encodeURIComponent(userID)}/groups`,
        headers: { 'x-auth-token': token },
        refusals: [],
      });
      if (status === 401) throw unauthorized('Keystone does not vouch for the token any more');
      const { groups } = body;
      if (status !== 200 || !Array.isArray(groups)) {
        throw keystoneUnavailable(new Error(`Keystone answered ${status} when asked for a user's groups`));
      }
      return groups.map((group: unknown) => {
        if (isJSONObject(group) && typeof group.name === 'string') return group.name;
        throw keystoneUnavailable(new Error('a group has no name'));
      });
    },
    close: () => http.close(),
  };
}

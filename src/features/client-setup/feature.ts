/**
 * Publishes at `/.well-known/stonegate` what a client must know to log in. The document is made of the
 * configuration alone, member by member, so that nothing else of it can get in.
 */
import type { StonegateConfiguration } from '../../config/configuration.ts';
import type { LoadedConfiguration } from '../../config/load.ts';
import { certificatesIn } from '../../lib/transport-security.ts';
import type { Feature } from '../../proxy/feature.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';
import { CLIENT_SETUP_PATH, type ClientSetup, LOGIN_SCOPES } from './client-setup-v1alpha1.ts';

export function createClientSetup(loaded: LoadedConfiguration): Feature {
  return { publicDocuments: new Map([[CLIENT_SETUP_PATH, jsonResponse(200, loadedClientSetup(loaded))]]) };
}

export function loadedClientSetup({ configuration, file }: LoadedConfiguration): ClientSetup {
  const caFile = configuration.portal?.kubernetes.caFile;
  return clientSetupOf(configuration, caFile === undefined ? undefined : file(caFile).toString());
}

/** @param ca the content of `portal.kubernetes.caFile` */
export function clientSetupOf(
  {
    authentication: { keystone, jwt },
    portal,
    tenancy,
  }: Pick<StonegateConfiguration, 'authentication' | 'portal' | 'tenancy'>,
  ca: string | undefined,
): ClientSetup {
  return {
    kind: 'ClientSetup',
    apiVersion: 'stonegate.dev/v1alpha1',
    spec: {
      tenancyMode: tenancy.mode,
      ...(portal && { server: portal.kubernetes.server, portal: portal.publicURL }),
      ...(ca !== undefined && { certificateAuthority: certificatesIn(ca) }),
      ...(keystone && {
        keystone: {
          displayName: portal?.keystone.displayName ?? 'OpenStack Keystone',
          url: portal?.keystone.publicURL ?? keystone.url,
        },
      }),
      oidc: jwt.flatMap(({ issuer, login }) => {
        if (login === undefined) return [];
        const { name, displayName, clientID, scopes = LOGIN_SCOPES, redirectURI } = login;
        return [
          {
            ...{ name, displayName, issuer: issuer.url, clientID, scopes },
            ...(redirectURI !== undefined && { redirectURI }),
          },
        ];
      }),
    },
  };
}

/**
 * Publishes at `/.well-known/stonegate` what a client must know to log in. The document is made of the
 * configuration alone, member by member, so that nothing else of it can get in.
 */
import type { StonegateConfiguration } from '../../config/configuration.ts';
import type { LoadedConfiguration } from '../../config/load.ts';
import { certificateBlocks } from '../../lib/transport-security.ts';
import type { Feature } from '../../proxy/feature.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';
import { CLIENT_SETUP_PATH, type ClientSetup } from './client-setup-v1alpha1.ts';

export function createClientSetup(loaded: LoadedConfiguration): Feature {
  const caFile = loaded.configuration.portal?.kubernetes.caFile;
  const ca = caFile === undefined ? undefined : loaded.file(caFile).toString();
  const setup = clientSetupOf(loaded.configuration, ca);
  return { publicDocuments: new Map([[CLIENT_SETUP_PATH, jsonResponse(200, setup)]]) };
}

/** @param ca the content of `portal.kubernetes.caFile` */
export function clientSetupOf(
  {
    authentication: { keystone },
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
      ...(ca !== undefined && { certificateAuthority: certificatesIn(ca) }),
      ...(keystone && {
        keystone: {
          displayName: portal?.keystone.displayName ?? 'OpenStack Keystone',
          url: portal?.keystone.publicURL ?? keystone.url,
        },
      }),
      // Not the issuers of `authentication.jwt`: they may be one for each tenant.
      oidc: (portal?.oidc ?? []).map(
        ({
          name,
          displayName,
          issuer,
          clientID,
          kubectlClientID = clientID,
          kubectlRedirectURI,
          scopes,
        }) => ({
          ...{ name, displayName, issuer, clientID: kubectlClientID, scopes },
          ...(kubectlRedirectURI !== undefined && { redirectURI: kubectlRedirectURI }),
        }),
      ),
    },
  };
}

/** The file may hold more than certificates, such as a key. */
function certificatesIn(pem: string): string {
  return certificateBlocks(pem)
    .map((block) => `${block}\n`)
    .join('');
}

/**
 * The feature `client-setup`: publishes at `/.well-known/stonegate` what a client must know to log in. The
 * document is made of the configuration alone, member by member, so that nothing else of it can get in.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { certificatesIn } from '../../lib/transport-security.ts';
import { defineFeature } from '../define-feature.ts';
import { type ClientSetup, LOGIN_SCOPES } from './client-setup-v1alpha1.ts';

interface ClientSetupReads extends Pick<CoreConfiguration, 'authentication' | 'tenancy'> {
  readonly portal?: {
    readonly publicURL: string;
    readonly kubernetes: { readonly server: string; readonly caFile?: string };
    readonly keystone: { readonly displayName: string; readonly publicURL?: string };
  };
}

export const clientSetup = defineFeature({
  name: 'client-setup',
  sections: {},
  reads(configuration: ClientSetupReads, { file }) {
    const caFile = configuration.portal?.kubernetes.caFile;
    return {
      setup: clientSetupOf(configuration, caFile === undefined ? undefined : file(caFile).toString()),
    };
  },
});

export type ClientSetupParts = ReturnType<typeof clientSetup.reads>;

/** @param ca the content of `portal.kubernetes.caFile` */
export function clientSetupOf(
  { authentication: { keystone, jwt }, portal, tenancy }: ClientSetupReads,
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

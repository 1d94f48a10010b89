/**
 * The feature `portal`: a page at which users sign in with a browser. See docs/portal.md.
 */
import type { CoreConfiguration, JWTConfiguration } from '../../config/core-configuration.ts';
import type { Rule } from '../../config/problem.ts';
import { clientRule } from '../../config/validate-logins.ts';
import { LOGIN_SCOPES } from '../client-setup/client-setup-v1alpha1.ts';
import { defineFeature, type FilesAndSecrets } from '../define-feature.ts';
import {
  type PortalConfiguration,
  type PortalOIDCConfiguration,
  portalSchema,
} from './portal-configuration.ts';

interface PortalReads extends Pick<CoreConfiguration, 'authentication' | 'cache' | 'server'> {
  readonly portal?: PortalConfiguration;
}

export const portal = defineFeature({
  name: 'portal',
  sections: {
    portal: portalSchema.exactOptional().describe('A sign-in page for browsers. Off without it.'),
  },
  restartFields: ['portal.bind'],
  listener: ({ portal }: PortalReads) => portal && { ...portal, http2: false },
  rules: portalRules,
  reads({ portal, authentication: { keystone, jwt }, cache }: PortalReads, material) {
    if (portal === undefined) return { page: portal, password: portal, providers: [], signInLimits: portal };
    const { signInLimits, bind: _bind, tls: _tls, oidc, ...page } = portal;
    const { caFile } = page.kubernetes;
    const backend = keystone && {
      url: keystone.url,
      timeout: keystone.timeout,
      ...(keystone.caFile !== undefined && { ca: material.file(keystone.caFile).toString() }),
    };
    return {
      page: {
        ...page,
        keystoneURL: keystone?.url,
        keystoneCA: backend?.ca,
        ca: caFile === undefined ? undefined : material.file(caFile).toString(),
        hasRedis: cache.redis !== undefined,
        sealingSecrets: cache.sealingKeys.map((source) => material.secret(source)),
      },
      password: page.keystone.enabled ? backend : undefined,
      providers: oidc.map((configuration) => readProvider(configuration, jwt, material)),
      signInLimits,
    };
  },
});

export type PortalParts = ReturnType<typeof portal.reads>;

function readProvider(
  { name, clientID, clientSecret }: PortalOIDCConfiguration,
  issuers: readonly JWTConfiguration[],
  { file, secret }: FilesAndSecrets,
) {
  const jwt = issuers.find(({ login }) => login?.name === name);
  // Loading refuses such a configuration.
  if (jwt?.login === undefined) throw new Error(`no issuer has the login ${name}`);
  const { displayName, clientID: kubectlClientID, scopes = LOGIN_SCOPES, redirectURI } = jwt.login;
  const { url: issuer, discoveryURL, caFile, certificateAuthority } = jwt.issuer;
  return {
    shown: { name, displayName, issuer, kubectlClientID, kubectlRedirectURI: redirectURI, scopes },
    options: {
      issuer,
      discoveryURL,
      clientID: clientID ?? kubectlClientID,
      clientSecret: clientSecret && secret(clientSecret),
      scopes,
      ca: caFile === undefined ? certificateAuthority : file(caFile).toString(),
    },
  };
}

function portalRules({ portal, authentication, server, cache }: PortalReads): Rule[] {
  if (portal === undefined) return [];
  const hostname = new URL(portal.publicURL).hostname;
  const logins = authentication.jwt.flatMap(({ login, issuer }) => (login ? [{ ...login, issuer }] : []));
  const hasKeystone = portal.keystone.enabled && authentication.keystone !== undefined;
  return [
    [
      'portal.publicURL',
      hostname === new URL(portal.kubernetes.server).hostname,
      // A browser sends a host's cookies to all of its ports; tenants serve pages below the API's address.
      `expected another host name than that of portal.kubernetes.server, ${hostname}: a browser would send the portal's cookies there, whatever the port`,
    ],
    [
      'cache.redis',
      server.workers !== 1 && cache.redis === undefined,
      'is required with portal if server.workers is not 1: workers do not share sessions otherwise',
    ],
    [
      'portal.oidc',
      portal.oidc.length === 0 && !hasKeystone,
      'names no issuer, and there is no way to sign in without one or authentication.keystone',
    ],
    ...portal.oidc.flatMap(({ name, clientID }, at): Rule[] => {
      const path = ['portal', 'oidc', at];
      const login = logins.find((each) => each.name === name);
      const names = logins.map((each) => each.name).join(', ') || 'none';
      return [
        [
          [...path, 'name'],
          login === undefined,
          `expected the name of a login in authentication.jwt[].login; there is ${names}`,
        ],
        clientRule(clientID ?? login?.clientID, login?.issuer.audiences, path),
      ];
    }),
  ];
}

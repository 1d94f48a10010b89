/**
 * The feature `tokens`: access tokens that users create for themselves, with less than their rights. See
 * docs/tokens.md.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { rule } from '../../kubernetes/right.ts';
import { operatorPlace } from '../../tenancy/places.ts';
import { defineFeature } from '../define-feature.ts';
import { needsProvisioner, type Provisioning, tenantUIDRight } from '../provisioning-credential.ts';
import { OWN_ACCESS_TOKENS, OWN_ROTATIONS, STORED_TOKENS } from './access-token-v1alpha1.ts';
import { type TokensConfiguration, tokensSchema } from './tokens-configuration.ts';

interface TokensReads
  extends Pick<CoreConfiguration, 'tenancy' | 'authentication' | 'upstream'>,
    Provisioning {
  readonly tokens?: TokensConfiguration;
  readonly access: { readonly index: boolean };
}

const { group, resource } = STORED_TOKENS;
const when = ['tokens'];

export const tokens = defineFeature({
  name: 'tokens',
  sections: {
    tokens: tokensSchema
      .exactOptional()
      .describe(
        'Access tokens that users create for themselves, with less than their rights. Off without it.',
      ),
  },
  rules: (configuration: TokensReads) => [
    needsProvisioner(configuration, configuration.tokens && 'tokens', 'create credentials'),
  ],
  warnings: ({ tokens, access, tenancy, authentication: { keystone } }: TokensReads) => [
    [
      'access.index',
      tokens !== undefined && tenancy.facts.labelsNamespaces && !access.index,
      'is off, so the scopes read and tenant/LEVEL of access tokens cover nothing: the labels of namespaces are read from the index',
    ],
    [
      'authentication.keystone.roleAssignments',
      tokens !== undefined && keystone !== undefined && keystone.roleAssignments === undefined,
      'is missing, so users of Keystone can create no access token: their roles have to be looked up',
    ],
  ],
  provisionerRights: [
    { when, rule: rule(group, resource, 'get list watch create update delete') },
    { when, rule: rule(group, `${resource}/status`, 'patch') },
    tenantUIDRight(when),
  ],
  storedKinds: [
    {
      definition: STORED_TOKENS,
      section: 'tokens',
      when,
      consequence: 'no user can create or use an access token',
    },
  ],
  namespace: ({ tokens }: TokensReads) => tokens?.namespace,
  ownResources: [OWN_ACCESS_TOKENS, OWN_ROTATIONS],
  reads: ({ tokens, tenancy, upstream: { server } }: TokensReads) => ({
    known: tokens && { server, place: operatorPlace(tokens, tenancy) },
    lifetimes: tokens?.lifetimes,
  }),
});

export type TokensParts = ReturnType<typeof tokens.reads>;

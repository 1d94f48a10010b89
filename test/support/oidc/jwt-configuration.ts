/** The configuration of an issuer for tests: complete, with only the relevant fields written out. */
import type { JWTConfiguration, JWTStrictness } from '../../../src/config/core-configuration.ts';
import type { IssuerKeys } from '../../../src/identity/oidc/oidc-issuer-keys.ts';
import type { SigningIssuer } from './signing-issuer.ts';

export const ISSUER = 'https://login.example.com';

const STRICT: JWTStrictness = {
  verifiedEmail: true,
  authorizedParty: true,
  tokenTypes: true,
  completeGroups: true,
  ownKeys: true,
};

export function jwtConfiguration(changes: Partial<JWTConfiguration> = {}): JWTConfiguration {
  return {
    issuer: { url: ISSUER, audiences: ['kubernetes'] },
    algorithms: ['RS256', 'ES256', 'PS256', 'EdDSA'],
    claimValidationRules: [],
    userValidationRules: [],
    claimMappings: {
      username: { claim: 'sub', prefix: 'oidc:' },
      groups: { claim: 'groups', prefix: 'oidc:' },
      extra: [],
    },
    tenant: { value: 'acme' },
    strict: STRICT,
    asKubernetes: false,
    clockTolerance: 30_000,
    keysMaxAge: 3_600_000,
    keysRefreshInterval: 10_000,
    ...changes,
  };
}

/** The keys that an issuer publishes at the moment, without requests over the network. */
export function directKeys(issuer: SigningIssuer): IssuerKeys {
  const sets = new Map<string, { keys: SigningIssuer['keys'][number][] }>();
  return {
    async keys() {
      const name = JSON.stringify(issuer.keys);
      const set = sets.get(name) ?? { keys: [...issuer.keys] };
      sets.set(name, set);
      return set;
    },
  };
}

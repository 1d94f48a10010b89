/**
 * Rules about fields of several sections that belong to no feature. Pure. Rules within a section are in its
 * schema.
 */
import { refusalsOfEveryToken } from '../identity/jwt/expression-configuration.ts';
import { checkContent } from './content-checks.ts';
import type { CoreConfiguration } from './core-configuration.ts';
import { formatPath, type Rule } from './problem.ts';
import { loginRules } from './validate-logins.ts';
import { prefixRules, tenantRules } from './validate-names.ts';

export function coreRules(configuration: CoreConfiguration): Rule[] {
  return [authenticationRules, issuerRules, prefixRules, tenantRules, loginRules].flatMap((rulesOf) =>
    rulesOf(configuration),
  );
}

const SOURCES =
  'expected keystone, jwt, tokenFile, basicAuthFile, clientCertificates, tokenReview, or several of them';

function authenticationRules({ authentication, tenancy, server }: CoreConfiguration): Rule[] {
  const { keystone, jwt, tokenFile, basicAuthFile, clientCertificates, tokenReview } = authentication;
  const sources = [keystone, jwt[0], tokenFile, basicAuthFile, clientCertificates, tokenReview];
  const hasNone = sources.every((source) => source === undefined);
  const isFromFile = authentication.configurationFile !== undefined;
  return [
    ['authentication', hasNone && !isFromFile, `accepts no credential: ${SOURCES}`],
    [
      'authentication.configurationFile',
      hasNone && isFromFile,
      `expected a file with at least one issuer, since there is no other source: ${SOURCES}`,
    ],
    [
      'authentication.anonymous.enabled',
      authentication.anonymous.enabled && tenancy.facts.readsTenantFromName,
      'expected false: in arktos mode system:anonymous is a user of the system tenant',
    ],
    [
      'authentication.clientCertificates',
      clientCertificates !== undefined && server.tls.clientCAFile !== undefined,
      'expected either this or server.tls.clientCAFile, found both: with the latter every client must present a certificate, so it could not identify the user',
    ],
    [
      'authentication.tokenReview.tenant',
      tokenReview !== undefined && tokenReview.tenant === undefined && !tenancy.facts.readsTenantFromName,
      'is required in shared mode: the tokens of an ordinary cluster name no tenant',
    ],
  ];
}

/** The issuers of `jwt`, or of the AuthenticationConfiguration with their tenants. */
function issuerRules({ authentication }: CoreConfiguration): Rule[] {
  const { jwt, serviceAccountIssuers } = authentication;
  const useless = 'expected only where an expression produces these names: a claim has a prefix of its own';
  return jwt.flatMap(
    ({ issuer, claimMappings: { username, groups }, usernamePrefix, groupsPrefix }, index): Rule[] => {
      const { url, certificateAuthority } = issuer;
      const authority = certificateAuthority && checkContent('ca', Buffer.from(certificateAuthority));
      const at = (...field: string[]) => ['authentication', 'jwt', index, ...field];
      return [
        [
          at('issuer', 'url'),
          serviceAccountIssuers.includes(url),
          `expected another issuer than the API server's own for service accounts, found ${url}`,
        ],
        [at('issuer', 'certificateAuthority'), authority !== undefined, authority ?? ''],
        [at('usernamePrefix'), usernamePrefix !== undefined && !('expression' in username), useless],
        [at('groupsPrefix'), groupsPrefix !== undefined && !(groups && 'expression' in groups), useless],
      ];
    },
  );
}

/** Warns of issuers none of whose tokens can be accepted. */
export function coreWarnings({ authentication: { jwt, configurationFile } }: CoreConfiguration): Rule[] {
  return jwt.flatMap((issuer, at) =>
    refusalsOfEveryToken(issuer).map(
      ({ path, message }): Rule =>
        configurationFile === undefined
          ? [['authentication', 'jwt', at, ...path], true, message]
          : [
              'authentication.configurationFile',
              true,
              `${formatPath(path)} of ${issuer.issuer.url} ${message}`,
            ],
    ),
  );
}

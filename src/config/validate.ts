/**
 * Rules about fields of several sections of a configuration. Pure. Rules within a section are in its schema.
 */

import { validateAdministrations } from '../features/cross-tenant/administrations-configuration.ts';
import { NEWEST_POD_SECURITY_MINOR } from '../kubernetes/admission-v1.ts';
import { filteringMode, isRBACAlone } from '../kubernetes/authorization-mode.ts';
import type {
  AdmissionProcessConfiguration,
  CredentialFiles,
  StonegateConfiguration,
} from './configuration.ts';
import { checkContent } from './content-checks.ts';
import { broken, type Finding, type Problem, type Rule } from './problem.ts';
import { validateListeners } from './validate-listeners.ts';
import { validatePrefixes, validateTenants } from './validate-names.ts';

export function validate(configuration: StonegateConfiguration): Finding[] {
  return [
    ...broken([
      ...authenticationRules(configuration),
      ...bindingsRules(configuration),
      ...accessRules(configuration),
      ...publishingRules(configuration),
      ...quotaRules(configuration),
      ...credentialRules(configuration),
      ...namespaceRules(configuration),
    ]),
    ...validateIssuers(configuration),
    ...validatePrefixes(configuration),
    ...validateTenants(configuration),
    ...validateAdministrations(configuration),
    ...validateListeners(configuration),
    ...validateAdmission(configuration),
  ];
}

const SOURCES =
  'expected keystone, jwt, tokenFile, basicAuthFile, clientCertificates, tokenReview, or several of them';

function authenticationRules({ authentication, tenancy, server }: StonegateConfiguration): Rule[] {
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
      authentication.anonymous.enabled && tenancy.mode === 'arktos',
      'expected false: in arktos mode system:anonymous is a user of the system tenant',
    ],
    [
      'authentication.clientCertificates',
      clientCertificates !== undefined && server.tls.clientCAFile !== undefined,
      'expected either this or server.tls.clientCAFile, found both: with the latter every client must present a certificate, so it could not identify the user',
    ],
    [
      'authentication.tokenReview.tenant',
      tokenReview !== undefined && tokenReview.tenant === undefined && tenancy.mode === 'shared',
      'is required in shared mode: the tokens of an ordinary cluster name no tenant',
    ],
  ];
}

/** The issuers of `jwt`, or of the AuthenticationConfiguration with their tenants. */
function validateIssuers({ authentication }: StonegateConfiguration): Finding[] {
  const { jwt, serviceAccountIssuers } = authentication;
  const useless = 'expected only where an expression makes these names: a claim has a prefix of its own';
  return jwt.flatMap(
    ({ issuer, claimMappings: { username, groups }, usernamePrefix, groupsPrefix }, index) => {
      const { url, certificateAuthority } = issuer;
      const authority = certificateAuthority && checkContent('ca', Buffer.from(certificateAuthority));
      const at = (...field: string[]) => ['authentication', 'jwt', index, ...field];
      return broken([
        [
          at('issuer', 'url'),
          serviceAccountIssuers.includes(url),
          `expected another issuer than the API server's own for service accounts, found ${url}`,
        ],
        [at('issuer', 'certificateAuthority'), authority !== undefined, authority ?? ''],
        [at('usernamePrefix'), usernamePrefix !== undefined && !('expression' in username), useless],
        [at('groupsPrefix'), groupsPrefix !== undefined && !(groups && 'expression' in groups), useless],
      ]);
    },
  );
}

function bindingsRules(configuration: StonegateConfiguration): Rule[] {
  const { bindings, upstream, authentication, authorization } = configuration;
  const { credential, provision } = bindings;
  const service = authentication.keystone?.serviceCredential;
  const policies = Object.entries({
    abacPolicyFile: authorization.abacPolicyFile !== undefined,
    crossTenantPolicies: authorization.crossTenantPolicies,
    tenantAdministrations: authorization.tenantAdministrations,
    administrations: authorization.administrations.length > 0,
  }).flatMap(([name, isUsed]) => (isUsed ? [`authorization.${name}`] : []));
  const isShared = configuration.tenancy.mode === 'shared';
  return [
    [
      'authentication.keystone.serviceCredential',
      provision !== 'none' && service === undefined,
      `is required with bindings.provision: ${provision}: only a service may list all projects and roles`,
    ],
    [
      'bindings.credential',
      provision !== 'none' && credential === undefined,
      `is required with bindings.provision: ${provision}: what impersonates must not also give rights`,
    ],
    [
      'bindings.credential',
      credential !== undefined && sharesFile(credential, upstream.credential),
      'expected a credential of its own, found that of upstream, which impersonates',
    ],
    ...policies.map(
      (path): Rule => [
        path,
        isShared,
        'has no effect in shared mode, in which a RoleBinding lets users of another tenant in',
      ],
    ),
    [
      'bindings.credential',
      !isShared && policies.length > 0 && credential === undefined,
      `is required with ${policies[0]}: what impersonates must not also write the roles of guests`,
    ],
  ];
}

function sharesFile(one: CredentialFiles, other: CredentialFiles): boolean {
  const names = new Set<string>(Object.values(other));
  return Object.values(one).some((name) => names.has(name));
}

/** Two projects in one namespace are refused in shared mode; in arktos mode they may be of two tenants. */
function namespaceRules({ bindings, tenancy }: StonegateConfiguration): Rule[] {
  const namespaces = Object.entries(bindings.projects).flatMap(([id, { namespace }]) =>
    namespace === undefined || tenancy.mode === 'arktos' ? [] : [{ id, namespace }],
  );
  return namespaces.map(({ id, namespace }, at) => [
    ['bindings', 'projects', id, 'namespace'],
    namespaces.findIndex((other) => other.namespace === namespace) !== at,
    `expected a namespace of its own, found "${namespace}", which another project has`,
  ]);
}

const NO_INDEX = 'has no effect without the index: expected access.index to be true';

function accessRules({ access, authorization: { hideForbidden } }: StonegateConfiguration): Rule[] {
  const { index, authorizers, othersNeverDeny, namedSets } = access;
  return [
    ['access.authorizers', !index && authorizers.length > 0, NO_INDEX],
    ['access.othersNeverDeny', !index && othersNeverDeny, NO_INDEX],
    ['access.namedSets', !index && namedSets.length > 0, NO_INDEX],
    ['authorization.hideForbidden', !index && hideForbidden, NO_INDEX],
    [
      'authorization.hideForbidden',
      index && hideForbidden && !isRBACAlone(authorizers),
      'expected access.authorizers to state [Node, RBAC]: the index does not know what another authorizer lets a user read',
    ],
  ];
}

/** What the index is not used for, since it is not known who decides. */
export function accessWarnings({
  access,
}: {
  readonly access: Pick<StonegateConfiguration['access'], 'index' | 'authorizers' | 'othersNeverDeny'>;
}): Problem[] {
  if (!access.index || filteringMode(access) !== 'off') return [];
  return [
    {
      path: 'access.authorizers',
      message:
        'lists of namespaces, and of all namespaces, are not filtered: state [Node, RBAC] if they are all that the API server has, or access.othersNeverDeny',
    },
  ];
}

/** Users would miss something here, and only the operator can see why. */
export function tokenWarnings({
  tokens,
  authentication: { keystone },
}: Pick<StonegateConfiguration, 'tokens' | 'authentication'>): Problem[] {
  if (tokens === undefined || keystone === undefined || keystone.roleAssignments !== undefined) return [];
  return [
    {
      path: 'authentication.keystone.roleAssignments',
      message: 'is missing, so users of Keystone can make no access token: their roles have to be looked up',
    },
  ];
}

function publishingRules({ publishing, tenancy }: StonegateConfiguration): Rule[] {
  if (publishing === undefined) return [];
  return [
    [
      'publishing.clusterScoped',
      tenancy.mode === 'shared' && publishing.clusterScoped.length > 0,
      'expected none in shared mode: all tenants share what has no namespace',
    ],
  ];
}

function quotaRules({ quota, authentication }: StonegateConfiguration): Rule[] {
  if (quota === undefined) return [];
  return [
    [
      'authentication.keystone.serviceCredential',
      quota.keystoneLimits !== undefined && authentication.keystone?.serviceCredential === undefined,
      'is required with quota.keystoneLimits: only a service on the system is shown all limits',
    ],
  ];
}

/** Each of these sections writes with the provisioning credential. */
const WRITERS = [
  ['publishing', 'give rights'],
  ['quota', 'write quotas'],
  ['members', 'write teams and invitations'],
  ['tokens', 'make credentials'],
] as const;

function credentialRules(configuration: StonegateConfiguration): Rule[] {
  const { members, bindings, access } = configuration;
  return [
    [
      'access.index',
      members !== undefined && !access.index,
      'expected true with members: they are read from the RBAC index',
    ],
    ...WRITERS.map(
      ([section, does]): Rule => [
        'bindings.credential',
        configuration[section] !== undefined && bindings.credential === undefined,
        `is required with ${section}: what impersonates must not also ${does}`,
      ],
    ),
  ];
}

/** Arktos' API server is one of Kubernetes 1.15. */
const ARKTOS_MINOR = 15;

/** The version of the Pod Security Standards fits the API server. */
export function validateAdmission({
  admission,
  tenancy: { mode },
}: Pick<StonegateConfiguration, 'admission'> & Pick<AdmissionProcessConfiguration, 'tenancy'>): Finding[] {
  if (admission === undefined) return [];
  const { level, version, tenants } = admission.podSecurity;
  const newest = mode === 'arktos' ? ARKTOS_MINOR : NEWEST_POD_SECURITY_MINOR;
  const levels = [level, ...Object.values(tenants).map((rule) => rule.level)];
  return broken([
    [
      'admission.podSecurity.version',
      version !== undefined && Number(version.slice('v1.'.length)) > newest,
      `expected at most v1.${newest}, found ${version}: a newer version allows what depends on fields that the API server does not know`,
    ],
    [
      'admission.podSecurity.version',
      mode === 'shared' &&
        version === undefined &&
        levels.some((one) => one !== undefined && one !== 'privileged'),
      "is required with a level: the API server's version, or an older one",
    ],
  ]);
}

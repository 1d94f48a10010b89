/**
 * Rules about fields of several sections of a configuration. Pure. Rules within a section are in its schema.
 */

import { administrationRules } from '../features/cross-tenant/administrations-configuration.ts';
import { refusalsOfEveryToken } from '../identity/jwt/expression-configuration.ts';
import { NEWEST_POD_SECURITY_MINOR } from '../kubernetes/admission-v1.ts';
import { filteringMode, isRBACAlone } from '../kubernetes/authorization-mode.ts';
import type {
  AdmissionProcessConfiguration,
  CredentialFiles,
  StonegateConfiguration,
} from './configuration.ts';
import { checkContent } from './content-checks.ts';
import { broken, type Finding, formatPath, type Problem, type Rule } from './problem.ts';
import { listenerRules } from './validate-listeners.ts';
import { prefixRules, tenantRules } from './validate-names.ts';

export function validate(configuration: StonegateConfiguration): Finding[] {
  return broken(
    [
      authenticationRules,
      serviceCredentialRules,
      accessRules,
      credentialRules,
      publishingRules,
      namespaceRules,
      issuerRules,
      prefixRules,
      tenantRules,
      administrationRules,
      listenerRules,
      admissionRules,
    ].flatMap((rulesOf) => rulesOf(configuration)),
  );
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
function issuerRules({ authentication }: StonegateConfiguration): Rule[] {
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

function serviceCredentialRules({ authentication, bindings, quota }: StonegateConfiguration): Rule[] {
  const { provision } = bindings;
  const path = 'authentication.keystone.serviceCredential';
  const isMissing = authentication.keystone?.serviceCredential === undefined;
  return [
    [
      path,
      isMissing && provision !== 'none',
      `is required with bindings.provision: ${provision}: only a service may list all projects and roles`,
    ],
    [
      path,
      isMissing && quota?.keystoneLimits !== undefined,
      'is required with quota.keystoneLimits: only a service on the system is shown all limits',
    ],
  ];
}

/** Whatever writes to the API server needs the provisioning credential. */
function credentialRules(configuration: StonegateConfiguration): Rule[] {
  const { bindings, upstream, authorization, tenancy, publishing, quota, members, tokens } = configuration;
  const { credential, provision } = bindings;
  const isShared = tenancy.mode === 'shared';
  const policies = Object.entries({
    abacPolicyFile: authorization.abacPolicyFile !== undefined,
    crossTenantPolicies: authorization.crossTenantPolicies,
    tenantAdministrations: authorization.tenantAdministrations,
    administrations: authorization.administrations.length > 0,
  }).flatMap(([name, isUsed]) => (isUsed ? [`authorization.${name}`] : []));
  const writers = [
    [`bindings.provision: ${provision}`, provision !== 'none', 'grant rights'],
    [policies[0], !isShared && policies.length > 0, 'write the roles of guests'],
    ['publishing', publishing !== undefined, 'grant rights'],
    ['quota', quota !== undefined, 'write quotas'],
    ['members', members !== undefined, 'write teams and invitations'],
    ['tokens', tokens !== undefined, 'create credentials'],
  ] as const;
  return [
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
    ...writers.map(
      ([what, writes, does]): Rule => [
        'bindings.credential',
        writes && credential === undefined,
        `is required with ${what}: a credential that impersonates must not also ${does}`,
      ],
    ),
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

function accessRules({ access, authorization: { hideForbidden }, members }: StonegateConfiguration): Rule[] {
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
    [
      'access.index',
      members !== undefined && !index,
      'expected true with members: they are read from the RBAC index',
    ],
  ];
}

function publishingRules({ publishing, tenancy }: StonegateConfiguration): Rule[] {
  return [
    [
      'publishing.clusterScoped',
      tenancy.mode === 'shared' && (publishing?.clusterScoped ?? []).length > 0,
      'expected none in shared mode: all tenants share what has no namespace',
    ],
  ];
}

/** Warns of settings for which users miss something, and only the operator can see why. */
export function configurationWarnings({
  access,
  tokens,
  quota,
  admission,
  tenancy,
  authentication: { keystone, jwt, configurationFile },
}: Pick<
  StonegateConfiguration,
  'access' | 'tokens' | 'quota' | 'admission' | 'tenancy' | 'authentication'
>): Problem[] {
  const missed = broken([
    [
      'access.authorizers',
      access.index && filteringMode(access) === 'off',
      'lists of namespaces, and of all namespaces, are not filtered: state [Node, RBAC] if they are all that the API server has, or access.othersNeverDeny',
    ],
    [
      'access.index',
      tokens !== undefined && tenancy.mode === 'shared' && !access.index,
      'is off, so the scopes read and tenant/LEVEL of access tokens cover nothing: the labels of namespaces are read from the index',
    ],
    [
      'authentication.keystone.roleAssignments',
      tokens !== undefined && keystone !== undefined && keystone.roleAssignments === undefined,
      'is missing, so users of Keystone can create no access token: their roles have to be looked up',
    ],
    [
      'quota',
      quota !== undefined && admission === undefined,
      'limits nothing by itself: add the section admission, unless a process of its own serves the admission webhook',
    ],
  ]);
  const refused = jwt.flatMap((issuer, at) =>
    refusalsOfEveryToken(issuer).map(({ path, message }) =>
      configurationFile === undefined
        ? { path: ['authentication', 'jwt', at, ...path], message }
        : {
            path: ['authentication', 'configurationFile'],
            message: `${formatPath(path)} of ${issuer.issuer.url} ${message}`,
          },
    ),
  );
  return [...missed, ...refused].map(({ path, message }) => ({ path: formatPath(path), message }));
}

/** Arktos' API server is one of Kubernetes 1.15. */
const ARKTOS_MINOR = 15;

/** The version of the Pod Security Standards fits the API server. */
export function admissionRules({
  admission,
  tenancy: { mode },
}: Pick<StonegateConfiguration, 'admission'> & Pick<AdmissionProcessConfiguration, 'tenancy'>): Rule[] {
  if (admission === undefined) return [];
  const { level, version, tenants } = admission.podSecurity;
  const newest = mode === 'arktos' ? ARKTOS_MINOR : NEWEST_POD_SECURITY_MINOR;
  const levels = [level, ...Object.values(tenants).map((rule) => rule.level)];
  return [
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
  ];
}

/**
 * The schema of `authentication`: Keystone, token and basic-auth files, client certificates, TokenReview and
 * anonymous requests. https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */
import { z } from 'zod';
import type { KeystoneServiceCredential } from '../api/config-v1alpha1.ts';
import { EXTRA_KEY, RESERVED_EXTRA_KEY } from '../api/reserved-names.ts';
import {
  duration,
  type FileField,
  period,
  prefixOrNone,
  requestPath,
  secretSource,
  tenant,
  text,
  url,
} from './fields.ts';
import { issuerTenantSchema, jwtSchema } from './schema-jwt.ts';

/** The scope of the service's token; Keystone refuses an unscoped service. */
const scope = z
  .strictObject({
    projectName: text.exactOptional().describe('With `projectDomainName`.'),
    projectDomainName: text.exactOptional().describe('The domain of that project.'),
    domainName: text.exactOptional().describe('A domain.'),
    system: z.literal(true).exactOptional().describe('The whole cloud.'),
  })
  .transform((given, context) => {
    const { projectName, projectDomainName, domainName, system } = given;
    const kinds = [projectName ?? projectDomainName, domainName, system];
    if (kinds.filter((kind) => kind !== undefined).length === 1) {
      if (projectName !== undefined && projectDomainName !== undefined) {
        return { projectName, projectDomainName };
      }
      if (domainName !== undefined) return { domainName };
      if (system !== undefined) return { system };
    }
    context.addIssue({
      code: 'custom',
      message: 'one scope: projectName and projectDomainName, or domainName, or system: true',
    });
    return z.NEVER;
  });

function serviceCredential(file: FileField) {
  return z
    .strictObject({
      applicationCredential: z
        .strictObject({ id: text.describe('Its id.'), secret: secretSource(file).describe('Its secret.') })
        .exactOptional()
        .describe('An application credential, by id.'),
      password: z
        .strictObject({
          userName: text.describe('The service user.'),
          userDomainName: text.describe("The service user's domain."),
          password: secretSource(file).describe('Its password.'),
          scope: scope.describe('The scope of the service token. Keystone refuses an unscoped service.'),
        })
        .exactOptional()
        .describe('A user with a password. Role `service` on one project suffices.'),
    })
    .transform(({ applicationCredential, password }, context): KeystoneServiceCredential => {
      if (applicationCredential !== undefined && password === undefined) return { applicationCredential };
      if (password !== undefined && applicationCredential === undefined) return { password };
      context.addIssue({ code: 'custom', message: 'exactly one of applicationCredential and password' });
      return z.NEVER;
    });
}

const roleAssignments = z.strictObject({
  cacheTTL: period
    .prefault('1m')
    .describe("How long a user's role assignments are cached, and so the time until a change takes effect."),
  staleIfUnavailable: duration
    .prefault('0')
    .describe('How much longer they are used while Keystone is down.'),
});

const revocationEvents = z.strictObject({
  interval: period.prefault('5s').describe('Time between two requests for new events.'),
});

function keystoneSchema(file: FileField) {
  return z.strictObject({
    url: url({ what: "Keystone's v3 address, such as https://keystone:5000/v3", path: /\/v3\/?$/ }).describe(
      "Keystone's v3 endpoint, with `/v3`.",
    ),
    caFile: file
      .exactOptional()
      .describe(
        "The CA of Keystone's certificate; else those that Node trusts (with `NODE_USE_SYSTEM_CA=1`, also the system's).",
      ),
    serviceCredential: serviceCredential(file)
      .exactOptional()
      .describe(
        'The credential with which tokens are validated. Without it each token is validated with itself.',
      ),
    tokenProvider: z
      .enum(['fernet', 'jws'])
      .default('fernet')
      .describe(
        'Set `jws` if Keystone issues JWS tokens. They look like JWTs and are sent to Keystone only then.',
      ),
    timeout: period.prefault('5s').describe('Timeout of a request to Keystone.'),
    cacheTTL: period
      .prefault('1m')
      .describe('How long a valid token is cached, and so the time until a revocation takes effect.'),
    negativeCacheTTL: duration.prefault('5s').describe('How long an invalid token is cached.'),
    staleIfUnavailable: duration
      .prefault('0')
      .describe('How much longer a token is accepted while Keystone is down; never past its own expiry.'),
    roleAssignments: roleAssignments
      .exactOptional()
      .describe(
        'Look up the roles of users whose token has no scope, for the project or domain of each request. Without it these users have no roles.',
      ),
    revocationEvents: z
      .union([z.literal(false), revocationEvents])
      .prefault({ interval: '5s' })
      .describe(
        "How often Keystone's revocation events are read, as `{ interval: 5s }` (needs `serviceCredential`), or `false`.",
      ),
  });
}

/** @param ownPrefix the default prefix of names and groups */
function staticFileSchema(file: FileField, ownPrefix: string) {
  const own = prefixOrNone.prefault(ownPrefix);
  return z.strictObject({
    file: file.describe('Reloaded if it changes. If a line is invalid, the last valid file stays in use.'),
    usernamePrefix: own.describe(
      'Prefix of user names, so that users of two sources never share a name. `-` means none.',
    ),
    groupsPrefix: own.describe('Prefix of groups. `-` means none.'),
    systemTenantByDefault: z
      .boolean()
      .default(false)
      .describe('Whether lines without a tenant belong to the system tenant. Otherwise they are refused.'),
  });
}

const anonymousSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe('Whether requests without a credential are accepted as `system:anonymous`.'),
    paths: z.array(requestPath).default([]).describe('Exactly these paths; all paths if empty.'),
  })
  .refine(({ enabled, paths }) => enabled || paths.length === 0, {
    error: 'no paths unless anonymous requests are enabled',
    path: ['paths'],
  });

const impersonationExtraKey = z
  .string()
  .regex(EXTRA_KEY, { error: 'a key of a-z, 0-9, "/", ".", "_" and "-"' })
  .refine((key) => !RESERVED_EXTRA_KEY.test(key), {
    error: 'a key of no reserved domain: kubernetes.io, k8s.io and stonegate.dev are',
  });

const ownPrefix = prefixOrNone.prefault('x509:');

function clientCertificatesSchema(file: FileField) {
  return z.strictObject({
    caFile: file.describe(
      'The CAs whose client certificates are accepted, PEM, each with its root. Reloaded if it changes; connections with certificates that are no longer accepted are closed.',
    ),
    usernamePrefix: ownPrefix.describe(
      'Prefix of user names, so that users of two sources never share a name. `-` means none.',
    ),
    groupsPrefix: ownPrefix.describe('Prefix of groups. `-` means none.'),
    allowSystemTenant: z
      .boolean()
      .default(false)
      .describe('Whether a certificate may name the system tenant.'),
  });
}

const tokenReviewSchema = z.strictObject({
  audiences: z
    .array(text)
    .default([])
    .describe(
      "Audiences, one of which the token must have; if empty, the API server's own. The API server must accept the token too, because it is forwarded unchanged.",
    ),
  tenant: tenant
    .exactOptional()
    .describe(
      'The tenant of users whose credential names none. Required in shared mode. In arktos mode these are users whose name contains no tenant and bound tokens of the system tenant; without this field they are refused.',
    ),
  timeout: period.prefault('10s').describe('Timeout of a request to the API server.'),
  cacheTTL: period
    .prefault('1m')
    .describe('How long a valid token is cached, and so the time until a revocation takes effect.'),
  negativeCacheTTL: duration.prefault('5s').describe('How long an invalid token is cached.'),
});

export function authenticationSchema(file: FileField) {
  return z
    .strictObject({
      keystone: keystoneSchema(file).exactOptional().describe('Accept Keystone tokens.'),
      jwt: z.array(jwtSchema(file)).default([]).describe('Accept the JWTs of these issuers.'),
      configurationFile: file
        .exactOptional()
        .describe("kube-apiserver's AuthenticationConfiguration, unchanged, instead of `jwt`."),
      tenants: z
        .record(text, issuerTenantSchema)
        .default({})
        .describe(
          'For `configurationFile`: issuer URL → `{ value }`, `{ claim, map }` or `{ claim, allow }`, with `usernamePrefix` and `groupsPrefix` if expressions make the names.',
        ),
      serviceAccountIssuers: z
        .array(text)
        .default(['https://kubernetes.default.svc.cluster.local', 'https://kubernetes.default.svc'])
        .describe(
          "The API server's issuers of service account tokens (`--service-account-issuer`). None of the issuers above may be one of these.",
        ),
      tokenFile: staticFileSchema(file, 'token:')
        .exactOptional()
        .describe('Accept the tokens of a file: `token,user,uid,"group1,group2",,tenant`.'),
      basicAuthFile: staticFileSchema(file, 'basic:')
        .exactOptional()
        .describe('Accept names and passwords of a file: `password,user,uid,"group1,group2",,tenant`.'),
      clientCertificates: clientCertificatesSchema(file)
        .exactOptional()
        .describe('Accept client certificates that name a tenant.'),
      tokenReview: tokenReviewSchema
        .exactOptional()
        .describe(
          'Accept service account tokens and all other tokens that the API server validates by TokenReview. They are forwarded unchanged.',
        ),
      anonymous: anonymousSchema
        .prefault({})
        .describe('Requests without any credential (not in arktos mode).'),
      impersonationExtraKeys: z
        .array(impersonationExtraKey)
        .default([])
        .describe(
          'Keys of `Impersonate-Extra-…` headers that clients may send when they impersonate another user. Each needs its own RBAC right.',
        ),
      requireAllIssuers: z
        .boolean()
        .default(false)
        .describe('Report ready only after every issuer has been reached once. Otherwise one suffices.'),
    })
    .describe('The credentials that are accepted; at least one source besides `anonymous`.');
}

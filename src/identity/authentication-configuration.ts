/**
 * The section `authentication`: Keystone, token and basic-auth files, client certificates, TokenReview and
 * anonymous requests. https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */
import { z } from 'zod';
import { EXTRA_KEY, RESERVED_EXTRA_KEY } from '../kubernetes/reserved-names.ts';
import {
  duration,
  type Output,
  period,
  prefixOrNone,
  requestPath,
  sentence,
  tenant,
  text,
  toggle,
  unique,
  url,
} from '../lib/schema-fields.ts';
import { authorityFile, file, secretSource } from '../lib/schema-files.ts';
import { issuerTenantSchema, jwtSchema } from './jwt/jwt-configuration.ts';

const scope = z.xor(
  [
    z.strictObject({
      projectName: text.describe('With `projectDomainName`.'),
      projectDomainName: text.describe('The domain of that project.'),
    }),
    z.strictObject({ domainName: text.describe('A domain.') }),
    z.strictObject({ system: z.literal(true).describe('The whole cloud.') }),
  ],
  { error: 'one scope: projectName and projectDomainName, or domainName, or system: true' },
);

const serviceCredential = z.xor(
  [
    z.strictObject({
      applicationCredential: z
        .strictObject({ id: text.describe('Its id.'), secret: secretSource().describe('Its secret.') })
        .describe('An application credential, by id.'),
    }),
    z.strictObject({
      password: z
        .strictObject({
          userName: text.describe('The service user.'),
          userDomainName: text.describe("The service user's domain."),
          password: secretSource().describe('Its password.'),
          scope: scope.describe('The scope of the service token. Keystone refuses an unscoped service.'),
        })
        .describe('A user with a password. Role `service` on one project suffices.'),
    }),
  ],
  { error: 'exactly one of applicationCredential and password' },
);

const keystone = z
  .strictObject({
    url: url({ what: "Keystone's v3 address, such as https://keystone:5000/v3", path: /\/v3\/?$/ }).describe(
      "Keystone's v3 endpoint, with `/v3`.",
    ),
    caFile: authorityFile("Keystone's certificate"),
    serviceCredential: serviceCredential
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
    roleAssignments: z
      .strictObject({
        cacheTTL: period
          .prefault('1m')
          .describe(
            "How long a user's role assignments are cached, and so the time until a change takes effect.",
          ),
        staleIfUnavailable: duration
          .prefault('0')
          .describe('How much longer they are used while Keystone is down.'),
      })
      .exactOptional()
      .describe(
        'Look up the roles of users whose token has no scope, for the project or domain of each request. Without it these users have no roles.',
      ),
    revocationEvents: z
      .union([
        z.literal(false),
        z.strictObject({
          interval: period.prefault('5s').describe('Time between two requests for new events.'),
        }),
      ])
      .prefault({ interval: '5s' })
      .describe(
        "How often Keystone's revocation events are read, as `{ interval: 5s }` (needs `serviceCredential`), or `false`.",
      ),
  })
  .refine(
    ({ roleAssignments, serviceCredential }) =>
      roleAssignments === undefined || serviceCredential !== undefined,
    sentence(
      'is required with roleAssignments: a user may not read the roles of other users',
      'serviceCredential',
    ),
  );

/** So that users of two sources never share a name. */
function namePrefixes(prefix: string) {
  const own = prefixOrNone.prefault(prefix);
  return {
    usernamePrefix: own.describe(
      'Prefix of user names, so that users of two sources never share a name. `-` means none.',
    ),
    groupsPrefix: own.describe('Prefix of groups. `-` means none.'),
  };
}

/** A file in the format of kube-apiserver's and Arktos' token and basic-auth files. */
function staticFile(prefix: string) {
  return z.strictObject({
    file: file('static-users').describe(
      'Reloaded if it changes. If a line is invalid, the last valid file stays in use.',
    ),
    ...namePrefixes(prefix),
    systemTenantByDefault: toggle(
      'Whether lines without a tenant belong to the system tenant. Otherwise they are refused.',
    ),
  });
}

const anonymous = z
  .strictObject({
    enabled: toggle('Whether requests without a credential are accepted as `system:anonymous`.'),
    paths: z.array(requestPath).default([]).describe('Exactly these paths; all paths if empty.'),
  })
  .refine(({ enabled, paths }) => enabled || paths.length === 0, {
    error: 'no paths unless anonymous requests are enabled',
    path: ['paths'],
  });

const clientCertificates = z.strictObject({
  caFile: file('client-ca').describe(
    'The CAs whose client certificates are accepted, PEM, each with its root. Reloaded if it changes; then all connections with a client certificate are closed.',
  ),
  ...namePrefixes('x509:'),
  allowSystemTenant: toggle('Whether a certificate may name the system tenant.'),
});

const tokenReview = z.strictObject({
  audiences: z
    .array(text)
    .default([])
    .describe(
      "Audiences, one of which the token must have; if empty, the API server's own. The API server must accept the token too, because it is forwarded unchanged.",
    ),
  tenant: tenant
    .refine(
      (name) => name !== 'all',
      sentence('expected another tenant: "all" means every tenant and is none'),
    )
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

const impersonationExtraKey = z
  .string()
  .regex(EXTRA_KEY, { error: 'a key of a-z, 0-9, "/", ".", "_" and "-"' })
  .refine((key) => !RESERVED_EXTRA_KEY.test(key), {
    error: 'a key of no reserved domain: kubernetes.io, k8s.io and stonegate.dev are',
  });

/** Equal for URLs that differ only in the host's case or a final slash. */
function withoutSlash(url: string): string | undefined {
  return URL.parse(url)?.href.replace(/\/+$/, '');
}

export const authenticationSchema = z
  .strictObject({
    keystone: keystone.exactOptional().describe('Accept Keystone tokens.'),
    jwt: z
      .array(jwtSchema)
      .superRefine(unique('an issuer of its own', ({ issuer }) => withoutSlash(issuer.url), 'issuer', 'url'))
      .superRefine(
        unique(
          'a discovery document of its own',
          ({ issuer }) => issuer.discoveryURL,
          'issuer',
          'discoveryURL',
        ),
      )
      .default([])
      .describe('Accept the JWTs of these issuers.'),
    configurationFile: file('authentication-configuration')
      .exactOptional()
      .describe("kube-apiserver's AuthenticationConfiguration, unchanged, instead of `jwt`."),
    tenants: z
      .record(text, issuerTenantSchema)
      .default({})
      .describe(
        'For `configurationFile`: issuer URL → `{ value }`, `{ claim, map }` or `{ claim, allow }`, with `usernamePrefix` and `groupsPrefix` if expressions produce the names.',
      ),
    serviceAccountIssuers: z
      .array(text)
      .default(['https://kubernetes.default.svc.cluster.local', 'https://kubernetes.default.svc'])
      .describe(
        "The API server's issuers of service account tokens (`--service-account-issuer`). None of the issuers above may be one of these.",
      ),
    tokenFile: staticFile('token:')
      .exactOptional()
      .describe('Accept the tokens of a file: `token,user,uid,"group1,group2",,tenant`.'),
    basicAuthFile: staticFile('basic:')
      .exactOptional()
      .describe('Accept names and passwords of a file: `password,user,uid,"group1,group2",,tenant`.'),
    clientCertificates: clientCertificates
      .exactOptional()
      .describe('Accept client certificates that name a tenant.'),
    tokenReview: tokenReview
      .exactOptional()
      .describe(
        'Accept service account tokens and all other tokens that the API server validates by TokenReview. They are forwarded unchanged.',
      ),
    anonymous: anonymous.prefault({}).describe('Requests without any credential (not in arktos mode).'),
    impersonationExtraKeys: z
      .array(impersonationExtraKey)
      .default([])
      .describe(
        'Keys of `Impersonate-Extra-…` headers that clients may send when they impersonate another user. Each needs its own RBAC right.',
      ),
    requireAllIssuers: toggle(
      'Report ready only after every issuer has been reached once. Otherwise one suffices.',
    ),
  })
  .describe('The credentials that are accepted; at least one source besides `anonymous`.');

export type AuthenticationConfiguration = Output<typeof authenticationSchema>;
export type KeystoneConfiguration = Output<typeof keystone>;
export type KeystoneServiceCredential = Output<typeof serviceCredential>;
export type StaticFileConfiguration = Output<ReturnType<typeof staticFile>>;
export type ClientCertificatesConfiguration = Output<typeof clientCertificates>;
export type AnonymousConfiguration = Output<typeof anonymous>;
export type TokenReviewConfiguration = Output<typeof tokenReview>;

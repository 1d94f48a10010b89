/**
 * `authentication.keystone`: where Keystone is, and as whom Stonegate asks it.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
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

/** What the service logs in to; Keystone refuses an unscoped service. */
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
          scope: scope.describe('What the service logs in to: Keystone refuses an unscoped service.'),
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
    .describe("How long a person's assignments are believed: the time until a change of them is seen."),
  staleIfUnavailable: duration.prefault('0').describe('How long beyond that while Keystone is down.'),
});

const revocationEvents = z.strictObject({
  interval: period.prefault('5s').describe('From one question for new events to the next.'),
});

function keystoneSchema(file: FileField) {
  return z.strictObject({
    url: url({ what: "Keystone's v3 address, such as https://keystone:5000/v3", path: /\/v3\/?$/ }).describe(
      "Keystone's v3 endpoint, with `/v3`.",
    ),
    caFile: file.exactOptional().describe("The CA of Keystone's certificate; else the system's CAs."),
    serviceCredential: serviceCredential(file)
      .exactOptional()
      .describe('As whom tokens are validated; without it each token is validated with itself.'),
    tokenProvider: z
      .enum(['fernet', 'jws'])
      .default('fernet')
      .describe('`jws` tokens look like JWTs; only then does one go to Keystone.'),
    timeout: period.prefault('5s').describe('For one question to Keystone.'),
    cacheTTL: period
      .prefault('1m')
      .describe('How long an answer is believed: the time until a revocation is seen.'),
    negativeCacheTTL: duration.prefault('5s').describe('How long a bad token is remembered.'),
    staleIfUnavailable: duration
      .prefault('0')
      .describe("How long beyond that while Keystone is down; never beyond the token's own expiry."),
    roleAssignments: roleAssignments
      .exactOptional()
      .describe(
        'Whether the roles of people whose token names no scope are looked up, by what each request concerns; absent: such people have none.',
      ),
    revocationEvents: z
      .union([z.literal(false), revocationEvents])
      .prefault({ interval: '5s' })
      .describe(
        "How often Keystone's revocation events are asked for, as `{ interval: 5s }`, which needs `serviceCredential`; or `false`.",
      ),
  });
}

// FROM src/config/schema-static.ts
/*!
 * `authentication.tokenFile`, `.basicAuthFile`, `.anonymous` and `.impersonationExtraKeys`.
 */

/** @param ownPrefix before names and groups unless the operator says otherwise */
function staticFileSchema(file: FileField, ownPrefix: string) {
  const own = prefixOrNone.prefault(ownPrefix);
  return z.strictObject({
    file: file.describe('Read anew when it changes; a line that is wrong keeps the last good file.'),
    usernamePrefix: own.describe('Put before user names, so that nobody shares one. `-` means none.'),
    groupsPrefix: own.describe('Put before groups. `-` means none.'),
    systemTenantByDefault: z
      .boolean()
      .default(false)
      .describe('Lines without a tenant are of the system tenant; else they are refused.'),
  });
}

const anonymousSchema = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Let them in as `system:anonymous`.'),
    paths: z.array(requestPath).default([]).describe('Exactly these paths; all without it.'),
  })
  .refine(({ enabled, paths }) => enabled || paths.length === 0, {
    error: 'no paths where anonymous requests are not enabled',
    path: ['paths'],
  });

const impersonationExtraKey = z
  .string()
  .regex(EXTRA_KEY, { error: 'a key of a-z, 0-9, "/", ".", "_" and "-"' })
  .refine((key) => !RESERVED_EXTRA_KEY.test(key), {
    error: 'a key of no reserved domain: kubernetes.io, k8s.io and stonegate.dev are',
  });

// FROM src/config/schema-certificates.ts
/*!
 * `authentication.clientCertificates`: kube-apiserver's `--client-ca-file`, with a tenant in each certificate.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
 */

const ownPrefix = prefixOrNone.prefault('x509:');

function clientCertificatesSchema(file: FileField) {
  return z.strictObject({
    caFile: file.describe(
      'The authorities whose certificates are believed, PEM, each up to its root. Read anew when it changes; connections it would refuse are closed.',
    ),
    usernamePrefix: ownPrefix.describe('Put before user names, so that nobody shares one. `-` means none.'),
    groupsPrefix: ownPrefix.describe('Put before groups. `-` means none.'),
    allowSystemTenant: z
      .boolean()
      .default(false)
      .describe('Whether certificates may be of the system tenant.'),
  });
}

// FROM src/config/schema-token-review.ts
/*!
 * `authentication.tokenReview`: the API server itself says whose a token is.
 */

const tokenReviewSchema = z.strictObject({
  audiences: z
    .array(text)
    .default([])
    .describe(
      "One of these a token must be for; without any, the API server's own audience. The API server must take the token too, since it goes on as it is.",
    ),
  tenant: tenant
    .exactOptional()
    .describe(
      "The tenant of those whose credential names none; required in shared mode, where none does. In arktos mode these are users whose name holds no tenant and the system tenant's bound tokens; without it they are refused.",
    ),
  timeout: period.prefault('10s').describe('For one question to the API server.'),
  cacheTTL: period
    .prefault('1m')
    .describe('How long an answer is believed: the time until a revocation is seen.'),
  negativeCacheTTL: duration.prefault('5s').describe('How long a bad token is remembered.'),
});

export function authenticationSchema(file: FileField) {
  return z
    .strictObject({
      keystone: keystoneSchema(file).exactOptional().describe('Accept Keystone tokens.'),
      jwt: z.array(jwtSchema(file)).default([]).describe('Accept the JWTs of these issuers.'),
      configurationFile: file
        .exactOptional()
        .describe("kube-apiserver's AuthenticationConfiguration, as it is, in place of `jwt`."),
      tenants: z
        .record(text, issuerTenantSchema)
        .default({})
        .describe(
          "For that file: each issuer's URL → `{ value }`, `{ claim, map }` or `{ claim, allow }`, with `usernamePrefix` and `groupsPrefix` where expressions make names.",
        ),
      serviceAccountIssuers: z
        .array(text)
        .default(['https://kubernetes.default.svc.cluster.local', 'https://kubernetes.default.svc'])
        .describe(
          "What the API server calls itself in service accounts' tokens (`--service-account-issuer`): none of the issuers above may be one of these.",
        ),
      tokenFile: staticFileSchema(file, 'token:')
        .exactOptional()
        .describe('Accept the tokens of a file: `token,user,uid,"group1,group2",,tenant`.'),
      basicAuthFile: staticFileSchema(file, 'basic:')
        .exactOptional()
        .describe('Accept names and passwords of a file: `password,user,uid,"group1,group2",,tenant`.'),
      clientCertificates: clientCertificatesSchema(file)
        .exactOptional()
        .describe('Accept client certificates that say a tenant.'),
      tokenReview: tokenReviewSchema
        .exactOptional()
        .describe(
          'Accept service account tokens and whatever else the API server vouches for; they go through as they are.',
        ),
      anonymous: anonymousSchema
        .prefault({})
        .describe('Requests without any credential (not in arktos mode).'),
      impersonationExtraKeys: z
        .array(impersonationExtraKey)
        .default([])
        .describe('`Impersonate-Extra-…` keys for who acts as somebody else; each needs a right of its own.'),
      requireAllIssuers: z
        .boolean()
        .default(false)
        .describe('Ready only when every issuer has been reached once, instead of any.'),
    })
    .describe('By what people prove who they are; at least one source but `anonymous`.');
}

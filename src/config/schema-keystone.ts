/**
 * `authentication.keystone`: where Keystone is, and as whom Stonegate asks it.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */
import { z } from 'zod';
import type { KeystoneServiceCredential } from '../api/config-v1alpha1.ts';
import { duration, period, text, url } from './fields.ts';
import { type FileField, secretSource } from './schema-secret.ts';

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

export function keystoneSchema(file: FileField) {
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

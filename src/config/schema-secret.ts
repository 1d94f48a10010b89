/**
 * File names and secrets in the configuration. A secret never stands in the file itself, only where to find it:
 * configuration ends up in version control and tickets.
 */
import { z } from 'zod';
import type { SecretSource } from '../api/config-v1alpha1.ts';
import { environmentVariable } from './fields.ts';

/** A file's name. `resolve` makes it absolute, since what it is relative to is the configuration file's folder. */
export function fileField(resolve: (name: string) => string) {
  return z
    .string()
    .min(1, { error: "a file's name" })
    .refine((name) => !/\p{Cc}/u.test(name), { error: "a file's name, not its contents" })
    .transform(resolve);
}

export type FileField = ReturnType<typeof fileField>;

const EXPECTED = 'exactly one of { fromFile: … } and { fromEnv: … }';

export function secretSource(file: FileField) {
  return z
    .strictObject(
      {
        fromFile: file.exactOptional().describe('A file that holds it; a final line break is ignored.'),
        fromEnv: environmentVariable.exactOptional().describe('An environment variable that holds it.'),
      },
      { error: (issue) => (issue.code === 'invalid_type' ? EXPECTED : undefined) },
    )
    .transform(({ fromFile, fromEnv }, context): SecretSource => {
      if (fromFile !== undefined && fromEnv === undefined) return { fromFile };
      if (fromEnv !== undefined && fromFile === undefined) return { fromEnv };
      context.addIssue({ code: 'custom', message: EXPECTED });
      return z.NEVER;
    });
}

/** What Stonegate proves itself with at the API server. */
export function upstreamCredential(file: FileField) {
  return z
    .strictObject({
      tokenFile: file.exactOptional().describe('A bearer token.'),
      certFile: file.exactOptional().describe('A client certificate, PEM; with `keyFile`.'),
      keyFile: file.exactOptional().describe('Its private key, PEM.'),
    })
    .transform(({ tokenFile, certFile, keyFile }, context) => {
      if (tokenFile !== undefined && certFile === undefined && keyFile === undefined) return { tokenFile };
      if (tokenFile === undefined && certFile !== undefined && keyFile !== undefined) {
        return { certFile, keyFile };
      }
      context.addIssue({ code: 'custom', message: 'either tokenFile, or certFile and keyFile' });
      return z.NEVER;
    });
}

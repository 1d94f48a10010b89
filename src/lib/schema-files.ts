/**
 * Files and secrets that the configuration names. Each field says what its file contains; `config/` finds
 * these fields in the schema, and reads, checks and watches the files.
 */
import { z } from 'zod';
import type { Output } from './schema-fields.ts';

export type ContentKind =
  | 'authentication-configuration'
  | 'static-users'
  | 'webhook-rules'
  | 'abac-policies'
  | 'certificate'
  | 'key'
  | 'ca'
  | 'client-ca'
  | 'token'
  | 'secret'
  | 'sealing-key'
  | 'redis-url';

/** The kind of file or secret that a string names. A file with no kind of content is written, not read. */
export const NAMED = z.registry<{ readonly by: 'file' | 'environment'; readonly content?: ContentKind }>();

/** The configuration never contains a secret, only the file or environment variable that holds it. */
export type SecretSource = Output<ReturnType<typeof secretSource>>;

export type CredentialFiles = Output<typeof upstreamCredential>;

/** A file name, relative to the folder of the configuration file; absolute after loading. */
export function file(content?: ContentKind) {
  return z
    .string()
    .min(1, { error: "a file's name" })
    .refine((name) => !/\p{Cc}/u.test(name), { error: "a file's name, not its contents" })
    .register(NAMED, { by: 'file', ...(content && { content }) });
}

const ENVIRONMENT_VARIABLE = 'the name of an environment variable';

/**
 * A secret is never in the configuration file itself, because such files end up in version control and
 * tickets.
 */
export function secretSource(content: ContentKind = 'secret') {
  const variable = z
    .string({ error: ENVIRONMENT_VARIABLE })
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, { error: ENVIRONMENT_VARIABLE })
    .register(NAMED, { by: 'environment', content });
  return z.xor(
    [
      z.strictObject({
        fromFile: file(content).describe('A file that contains it; a final line break is ignored.'),
      }),
      z.strictObject({ fromEnv: variable.describe('An environment variable that contains it.') }),
    ],
    { error: 'exactly one of { fromFile: … } and { fromEnv: … }' },
  );
}

/** A credential of Stonegate for the API server. */
export const upstreamCredential = z.xor(
  [
    z.strictObject({ tokenFile: file('token').describe('A bearer token.') }),
    z.strictObject({
      certFile: file('certificate').describe('A client certificate, PEM; with `keyFile`.'),
      keyFile: file('key').describe('Its private key, PEM.'),
    }),
  ],
  { error: 'either tokenFile, or certFile and keyFile' },
);

export const serverCertificate = {
  certFile: file('certificate').describe('Its certificate with its chain, PEM.'),
  keyFile: file('key').describe('Its private key, PEM, not encrypted.'),
};

/** @param of whose certificate */
export function authorityFile(of: string) {
  return file('ca')
    .exactOptional()
    .describe(
      `The CA of ${of}; else those that Node trusts (with \`NODE_USE_SYSTEM_CA=1\`, also the system's).`,
    );
}

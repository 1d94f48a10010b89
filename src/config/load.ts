/**
 * Reads the configuration file and all files and secrets that it names, once, and checks them. What was
 * checked is what is used: later changes on disk do not affect a `LoadedConfiguration`.
 */

import { createHash } from 'node:crypto';
import { readFile as readFromDisk } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { SecretSource, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { reasonOf, tellable } from '../lib/file-errors.ts';
import { checkAbacFile } from './abac-file.ts';
import { checkContent, checkPair, secretText } from './content-checks.ts';
import { checkWebhookFiles } from './keystone-auth/sync-file.ts';
import { parseWithAuthenticationFile } from './parse.ts';
import type { Finding, Problem } from './problem.ts';
import { type Pair, pairsOf, type Reference, referencesOf } from './references.ts';
import { staticUsersOf } from './static-users.ts';

export interface LoadedConfiguration {
  readonly configuration: StonegateConfiguration;
  /**
   * The content of a file that the configuration names.
   *
   * @throws RangeError for any other file
   */
  file(name: string): Buffer;
  /**
   * The secret of a source of this configuration.
   *
   * @throws RangeError for any other source
   */
  secret(source: SecretSource): string;
  /**
   * SHA-256 in hexadecimal of the settings that determine identities, `authentication` and `tenancy`. Equal
   * on all replicas of one configuration; certificates and secrets may differ. Cache keys of identities
   * contain it.
   */
  readonly identityDigest: string;
  /**
   * SHA-256 in hexadecimal of all settings, for the log; equal on all replicas of one configuration. File
   * contents are not included, because a reader of the log could test guesses of a password against it.
   */
  readonly digest: string;
}

/** File name → `fingerprint` of the content that was read. */
export type Watched = ReadonlyMap<string, string>;

/** Files are watched even if the configuration is invalid, because the fix may be in a file that it names. */
export type LoadResult<Loaded = LoadedConfiguration> =
  | { readonly ok: true; readonly loaded: Loaded; readonly watched: Watched }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly watched: Watched };

export interface LoadSources {
  readonly readFile: (name: string) => Promise<Buffer>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The local file system and the environment of this process. */
export const systemSources: LoadSources = { readFile: (name) => readFromDisk(name), env: process.env };

/** Equal for equal content. A file that cannot be read has a fingerprint too. */
export function fingerprint(content: Buffer | undefined): string {
  return content === undefined ? 'unreadable' : createHash('sha256').update(content).digest('hex');
}

/** @param file relative to the working directory, or absolute */
export async function loadConfiguration(
  file: string,
  sources: LoadSources = systemSources,
): Promise<LoadResult> {
  const contents = new Map<string, Buffer | undefined>();
  const failures = new Map<string, string>();
  async function read(name: string): Promise<void> {
    if (contents.has(name)) return;
    contents.set(name, undefined);
    try {
      contents.set(name, await sources.readFile(name));
    } catch (error) {
      failures.set(name, reasonOf(error));
    }
  }
  const watched = () => new Map([...contents].map(([name, content]) => [name, fingerprint(content)]));

  const configurationFile = resolve(file);
  await read(configurationFile);
  const text = contents.get(configurationFile);
  if (text === undefined) {
    const message = `cannot be read from ${file}: ${failures.get(configurationFile) ?? ''}`;
    return { ok: false, problems: [{ path: '', message }], watched: watched() };
  }
  const { configuration, problems, locate } = await parseWithAuthenticationFile(
    text.toString('utf8'),
    dirname(configurationFile),
    async (name) => {
      await read(name);
      return contents.get(name);
    },
  );
  if (configuration === undefined) return { ok: false, problems, watched: watched() };

  const references = referencesOf(configuration);
  for (const { source } of references) if ('fromFile' in source) await read(source.fromFile);
  const found = { contents, failures, env: sources.env };
  const findings = [
    ...references.flatMap((reference) => checkReference(reference, found)),
    ...checkPairs(pairsOf(configuration), contents),
    ...checkStaticUsers(configuration, contents),
    ...checkWebhookFiles(configuration, (file) => contents.get(file)),
    ...checkAbacFile(configuration, (file) => contents.get(file)),
  ];
  if (problems.length > 0 || findings.length > 0) {
    return { ok: false, problems: [...problems, ...locate(findings)], watched: watched() };
  }
  return { ok: true, loaded: loadedOf(configuration, contents, sources.env), watched: watched() };
}

export interface ReadFiles {
  readonly contents: ReadonlyMap<string, Buffer | undefined>;
  /** File name → why it could not be read. */
  readonly failures: ReadonlyMap<string, string>;
  readonly env: LoadSources['env'];
}

export function checkReference(
  { path, source, kind }: Reference,
  { contents, failures, env }: ReadFiles,
): Finding[] {
  const content = contentOf(source, contents, env);
  if (content !== undefined) {
    const message = checkContent(kind, content);
    return message === undefined ? [] : [{ path, message }];
  }
  const message =
    'fromFile' in source
      ? `expected a file that can be read, found ${failures.get(source.fromFile) ?? 'none'}: ${tellable(source.fromFile)}`
      : `expected the environment variable ${source.fromEnv} to be set`;
  return [{ path, message }];
}

export function checkPairs(pairs: readonly Pair[], contents: ReadFiles['contents']): Finding[] {
  return pairs.flatMap(({ path, certFile, keyFile }) => {
    const certificate = contents.get(certFile);
    const key = contents.get(keyFile);
    if (certificate === undefined || key === undefined) return [];
    if (checkContent('certificate', certificate) ?? checkContent('key', key)) return [];
    const message = checkPair(certificate, key);
    return message === undefined ? [] : [{ path, message }];
  });
}

function checkStaticUsers(configuration: StonegateConfiguration, contents: ReadFiles['contents']): Finding[] {
  const users = staticUsersOf(configuration, (file) => contents.get(file));
  return Object.entries(users).flatMap(([key, { problems }]) =>
    problems.map((message) => ({
      path: ['authentication', key, 'file'],
      message,
    })),
  );
}

function contentOf(
  source: SecretSource,
  contents: ReadFiles['contents'],
  env: ReadFiles['env'],
): Buffer | undefined {
  if ('fromFile' in source) return contents.get(source.fromFile);
  const value = env[source.fromEnv];
  return value === undefined ? undefined : Buffer.from(value);
}

function loadedOf(
  configuration: StonegateConfiguration,
  contents: ReadFiles['contents'],
  env: ReadFiles['env'],
): LoadedConfiguration {
  const { authentication, tenancy } = configuration;
  return {
    configuration,
    identityDigest: fingerprint(Buffer.from(JSON.stringify({ authentication, tenancy }))),
    digest: fingerprint(Buffer.from(JSON.stringify(configuration))),
    file(name) {
      const content = contents.get(name);
      if (content === undefined) throw new RangeError('the configuration does not name this file');
      return content;
    },
    secret(source) {
      const content = contentOf(source, contents, env);
      if (content === undefined) throw new RangeError('the configuration does not name this secret');
      return secretText(content);
    },
  };
}

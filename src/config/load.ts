/**
 * Reads the configuration file and all files and secrets that it names, once, and checks them. What was
 * checked is what is used: later changes on disk do not affect a `LoadedConfiguration`.
 */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { displayedFileName, reasonOf } from '../lib/file-errors.ts';
import { checkContent, checkPair, secretText } from './content-checks.ts';
import type { AuthenticationConfiguration, CoreConfiguration, SecretSource } from './core-configuration.ts';
import type { Reference } from './named-files.ts';
import {
  type ConfigurationFormat,
  type FileContent,
  type Parsed,
  parseConfiguration,
  parseWithoutIdentities,
} from './parse.ts';
import { type Finding, formatPath, type Problem } from './problem.ts';

export interface Loaded<out Configuration> {
  readonly configuration: Configuration;
  /** All files and secrets that the configuration names. */
  readonly references: readonly Reference[];
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
   * SHA-256 in hexadecimal of all settings, for the log; equal on all replicas of one configuration. File
   * contents are not included, because a reader of the log could test guesses of a password against it.
   */
  readonly digest: string;
}

/** A configuration with identities. */
export interface LoadedConfiguration<C extends CoreConfiguration = CoreConfiguration> extends Loaded<C> {
  /**
   * SHA-256 in hexadecimal of the settings that determine identities: `tenancy`, and `authentication` without
   * how users log in. Equal on all replicas of one configuration; certificates and secrets may differ. Cache
   * keys of identities contain it.
   */
  readonly identityDigest: string;
}

/** File name → `fingerprint` of the content that was read. */
export type Watched = ReadonlyMap<string, string>;

/** Files are watched even if the configuration is invalid, because the fix may be in a file that it names. */
export type LoadResult<L> =
  | { readonly ok: true; readonly loaded: L; readonly watched: Watched }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly watched: Watched };

export interface LoadSources {
  readonly readFile: (name: string) => Promise<Buffer>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The local file system and the environment of this process. */
export const systemSources: LoadSources = { readFile: (name) => readFile(name), env: process.env };

/** Equal for equal content. A file that cannot be read has a fingerprint too. */
export function fingerprint(content: Buffer | undefined): string {
  return content === undefined ? 'unreadable' : hash('sha256', content);
}

/** @param file relative to the working directory, or absolute */
export async function loadConfiguration<C extends CoreConfiguration>(
  format: ConfigurationFormat<C>,
  file: string,
  sources: LoadSources = systemSources,
): Promise<LoadResult<LoadedConfiguration<C>>> {
  const parse: Parse<C> = (...content) => parseConfiguration(format, ...content);
  const result = await load(file, sources, parse, format.checkFiles);
  if (!result.ok) return result;
  const { authentication, tenancy } = result.loaded.configuration;
  const identityDigest = digestOf({ authentication: withoutLogins(authentication), tenancy });
  return { ...result, loaded: { ...result.loaded, identityDigest } };
}

/** How users log in at an issuer does not change who they are. */
function withoutLogins(authentication: AuthenticationConfiguration): object {
  const jwt = authentication.jwt.map(({ login: _, ...issuer }) => issuer);
  const tenants = Object.fromEntries(
    Object.entries(authentication.tenants).map(([url, { login: _, ...tenant }]) => [url, tenant]),
  );
  return { ...authentication, jwt, tenants };
}

/**
 * Loads the sections of a format alone. The other sections may be absent, and the files and secrets that they
 * name are not read.
 *
 * @param file relative to the working directory, or absolute
 */
export function loadWithoutIdentities<C extends TenancySettings>(
  format: ConfigurationFormat<C>,
  file: string,
  sources: LoadSources,
): Promise<LoadResult<Loaded<C>>> {
  return load(
    file,
    sources,
    (text, folder) => parseWithoutIdentities(format, text, folder),
    format.checkFiles,
  );
}

type TenancySettings = Pick<CoreConfiguration, 'tenancy'>;
type Parse<C> = (text: string, folder: string, content?: FileContent) => Parsed<C>;

/**
 * The configuration alone, before the credentials and certificates exist that it names: of the files only
 * the AuthenticationConfiguration is read.
 *
 * @param file relative to the working directory, or absolute
 */
export async function readConfiguration<C>(
  file: string,
  sources: LoadSources,
  parse: Parse<C>,
): Promise<Pick<Parsed<C>, 'configuration' | 'problems'>> {
  const isNeeded = ({ content }: Reference) => content === 'authentication-configuration';
  return (await read(file, sources, parse, isNeeded)).parsed;
}

async function load<C extends TenancySettings>(
  file: string,
  sources: LoadSources,
  parse: Parse<C>,
  checkFiles: (configuration: C, content: FileContent) => readonly Finding[],
): Promise<LoadResult<Loaded<C>>> {
  const { parsed, contents } = await read(file, sources, parse);
  const watched = new Map([...contents].map(([name, content]) => [name, fingerprint(content)]));
  const { configuration, references } = parsed;
  if (configuration === undefined) return { ok: false, problems: parsed.problems, watched };
  const contentOf = (name: string) => contents.get(name);
  const findings = [...checkPairs(references, contentOf), ...checkFiles(configuration, contentOf)];
  const problems = [...parsed.problems, ...parsed.locate(findings)];
  if (problems.length > 0) return { ok: false, problems, watched };
  const named = (content: Buffer | undefined): Buffer => {
    if (content === undefined) throw new RangeError('the configuration does not name this');
    return content;
  };
  const loaded = {
    configuration,
    references,
    file: (name: string) => named(contents.get(name)),
    secret: (source: SecretSource) => secretText(named(contentIn(source, contents, sources.env))),
    digest: digestOf(configuration),
  };
  return { ok: true, loaded, watched };
}

type Contents = ReadonlyMap<string, Buffer | undefined>;

/** Reads the file and those that it names. */
async function read<C>(
  file: string,
  { readFile, env }: LoadSources,
  parse: Parse<C>,
  isNeeded: (reference: Reference) => boolean = () => true,
): Promise<{ readonly parsed: Parsed<C>; readonly contents: Contents }> {
  const contents = new Map<string, Buffer | undefined>();
  const failures = new Map<string, string>();
  async function readOnce(name: string): Promise<Buffer | undefined> {
    if (!contents.has(name))
      try {
        contents.set(name, await readFile(name));
      } catch (error) {
        contents.set(name, undefined);
        failures.set(name, reasonOf(error));
      }
    return contents.get(name);
  }
  const name = resolve(file);
  const text = (await readOnce(name))?.toString('utf8');
  if (text === undefined) {
    const message = `cannot be read from ${file}: ${failures.get(name) ?? ''}`;
    return { parsed: { problems: [{ path: '', message }], references: [], locate: () => [] }, contents };
  }
  const references = parse(text, dirname(name)).references.filter(isNeeded);
  for (const { source } of references) if ('fromFile' in source) await readOnce(source.fromFile);
  const parsed = parse(text, dirname(name), (name) => contents.get(name));
  if (parsed.configuration === undefined) return { parsed, contents };
  const findings = references.flatMap(({ path, source, content: kind }) => {
    const content = contentIn(source, contents, env);
    const message = content === undefined ? missing(source, failures) : checkContent(kind, content);
    return message === undefined ? [] : [{ path, message }];
  });
  return { parsed: { ...parsed, problems: [...parsed.problems, ...parsed.locate(findings)] }, contents };
}

function missing(source: SecretSource, failures: ReadonlyMap<string, string>): string {
  return 'fromFile' in source
    ? `expected a file that can be read, found ${failures.get(source.fromFile) ?? 'none'}: ${displayedFileName(source.fromFile)}`
    : `expected the environment variable ${source.fromEnv} to be set`;
}

function contentIn(source: SecretSource, contents: Contents, env: LoadSources['env']): Buffer | undefined {
  if ('fromFile' in source) return contents.get(source.fromFile);
  const value = env[source.fromEnv];
  return value === undefined ? undefined : Buffer.from(value);
}

/** A certificate and a key in one mapping must belong together. */
function checkPairs(references: readonly Reference[], content: FileContent): Finding[] {
  const read = ({ source, content: kind }: Reference): Buffer | undefined => {
    const found = 'fromFile' in source ? content(source.fromFile) : undefined;
    return found !== undefined && checkContent(kind, found) === undefined ? found : undefined;
  };
  const mappingOf = ({ path }: Reference) => formatPath(path.slice(0, -1));
  return references.flatMap((key) => {
    const pair = references.find(
      (other) => other.content === 'certificate' && mappingOf(other) === mappingOf(key),
    );
    if (key.content !== 'key' || pair === undefined) return [];
    const [certificate, privateKey] = [read(pair), read(key)];
    const message = certificate && privateKey && checkPair(certificate, privateKey);
    return message === undefined ? [] : [{ path: key.path, message }];
  });
}

/** The facts of a tenancy mode are no settings. */
function digestOf<S extends TenancySettings>(settings: S): string {
  const { facts: _facts, ...tenancy } = settings.tenancy;
  return fingerprint(Buffer.from(JSON.stringify({ ...settings, tenancy })));
}

/**
 * Parses the text of a configuration file into a configuration or a list of problems. It reads no other
 * file, so that a configuration can be checked before its certificates exist; `load.ts` reads those.
 */
import type { z } from 'zod';
import { withAuthenticationFile } from './authentication-file.ts';
import type { CoreConfiguration } from './core-configuration.ts';
import { readYAML } from './documents.ts';
import { type Reference, resolveNames } from './named-files.ts';
import {
  broken,
  type Finding,
  formatPath,
  PARSE_OPTIONS,
  type Path,
  type Problem,
  problemsOfIssue,
  type Rule,
} from './problem.ts';

export interface Parsed<Configuration> {
  /** Present if every field is valid by itself; rules about several fields may still be violated. */
  readonly configuration?: Configuration;
  readonly problems: readonly Problem[];
  /** Present if the text is YAML. */
  readonly references: readonly Reference[];
  /** Adds path and line to findings. */
  readonly locate: (findings: readonly Finding[]) => Problem[];
}

/** @returns the content of a file; undefined if it was not read */
export type FileContent = (name: string) => Buffer | undefined;

const NOTHING_READ: FileContent = () => undefined;

/** A kind of configuration file: the schema of its sections, and the rules between them. */
export interface ConfigurationFormat<C> {
  readonly schema: z.ZodType<C>;
  /** Called once each field is valid by itself. */
  rules(configuration: C): readonly Rule[];
  /** Checks files that have a format of their own, as far as they could be read. */
  checkFiles(configuration: C, content: FileContent): readonly Finding[];
}

/**
 * Parses a configuration with the issuers of its AuthenticationConfiguration.
 *
 * @param folder the folder of the configuration file, to which relative file names refer
 * @param content of the AuthenticationConfiguration; without it its issuers are missing
 */
export function parseConfiguration<C extends CoreConfiguration>(
  format: ConfigurationFormat<C>,
  text: string,
  folder: string,
  content: FileContent = NOTHING_READ,
): Parsed<C> {
  const parsed = parseWith(format.schema, text, folder);
  if (parsed.configuration === undefined) return parsed;
  const whole = withAuthenticationFile(parsed.configuration, content);
  if ('problems' in whole) return { ...whole, references: parsed.references, locate: parsed.locate };
  const { configuration, findings, isComplete, relocate } = whole;
  const found = isComplete ? broken(format.rules(configuration)).map(relocate) : [];
  return { ...parsed, configuration, problems: parsed.locate([...findings, ...found]) };
}

/** Parses a configuration without the section `authentication`. */
export function parseWithoutIdentities<C>(
  format: ConfigurationFormat<C>,
  text: string,
  folder: string,
): Parsed<C> {
  const parsed = parseWith(format.schema, text, folder);
  if (parsed.configuration === undefined) return parsed;
  return { ...parsed, problems: parsed.locate(broken(format.rules(parsed.configuration))) };
}

function parseWith<T>(schema: z.ZodType<T>, text: string, folder: string): Parsed<T> {
  const document = readYAML(text);
  if (!document.ok) return { problems: document.problems, references: [], locate: locator(() => undefined) };
  const locate = locator(document.lineOf);
  const references = resolveNames(schema, document.data, folder);
  const result = schema.safeParse(document.data, PARSE_OPTIONS);
  if (result.success) return { configuration: result.data, problems: [], references, locate };
  return { problems: locate(result.error.issues.flatMap(problemsOfIssue)), references, locate };
}

function locator(lineOf: (path: Path) => number | undefined) {
  return (findings: readonly Finding[]): Problem[] =>
    findings.map(({ path, message, elsewhere }) => {
      if (elsewhere !== undefined) return elsewhere;
      const line = lineOf(path);
      return { path: formatPath(path), message, ...(line === undefined ? {} : { line }) };
    });
}

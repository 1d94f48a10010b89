/**
 * Parses the text of a configuration file into a configuration or a list of problems. It reads no other
 * file, so that a configuration can be checked before its certificates exist; `load.ts` reads those.
 */
import type { z } from 'zod';
import { withAuthenticationFile } from './authentication-file.ts';
import {
  type AdmissionProcessConfiguration,
  admissionProcessSchema,
  configurationSchema,
  type StonegateConfiguration,
} from './configuration.ts';
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
} from './problem.ts';
import { admissionRules, validate } from './validate.ts';

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

/**
 * Problems that involve several fields are checked once each field is valid by itself.
 *
 * @param folder the folder of the configuration file, to which relative file names refer
 * @param content of the AuthenticationConfiguration; without it its issuers are missing
 */
export function parseConfiguration(
  text: string,
  folder: string,
  content: FileContent = NOTHING_READ,
): Parsed<StonegateConfiguration> {
  const parsed = parseWith(configurationSchema, text, folder);
  if (parsed.configuration === undefined) return parsed;
  const whole = withAuthenticationFile(parsed.configuration, content);
  if ('problems' in whole) return { ...whole, references: parsed.references, locate: parsed.locate };
  const { configuration, findings, isComplete, relocate } = whole;
  const found = isComplete ? validate(configuration).map(relocate) : [];
  return { ...parsed, configuration, problems: parsed.locate([...findings, ...found]) };
}

/** Parses the configuration of a process that serves only the admission webhook. */
export function parseAdmission(text: string, folder: string): Parsed<AdmissionProcessConfiguration> {
  const parsed = parseWith(admissionProcessSchema, text, folder);
  if (parsed.configuration === undefined) return parsed;
  return { ...parsed, problems: parsed.locate(broken(admissionRules(parsed.configuration))) };
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

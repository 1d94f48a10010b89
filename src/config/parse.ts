/**
 * Parses the text of a configuration file into a configuration or a list of problems. It reads no other
 * file, so that a configuration can be checked before its certificates exist; `load.ts` reads those.
 */
import { resolve } from 'node:path';
import type { z } from 'zod';
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { withAuthenticationFile } from './authentication-file.ts';
import { readYAML } from './documents.ts';
import { type Finding, formatPath, type Path, type Problem, problemsOfIssue } from './problem.ts';
import { configurationSchema } from './schema.ts';
import { validate } from './validate.ts';

type Document = z.output<ReturnType<typeof configurationSchema>>;

export interface Parsed {
  /** Present if every field is valid by itself; rules about several fields may still be violated. */
  readonly configuration?: StonegateConfiguration;
  readonly problems: readonly Problem[];
  /** Adds path and line to findings. */
  readonly locate: (findings: readonly Finding[]) => Problem[];
}

/**
 * Problems of several fields are looked for once each field is valid by itself.
 *
 * @param folder the folder of the configuration file, to which relative file names refer
 * @param content returns the content of the AuthenticationConfiguration; without it its issuers are missing
 */
export function parseConfiguration(
  text: string,
  folder: string,
  content: (name: string) => Buffer | undefined = () => undefined,
): Parsed {
  const document = readYAML(text);
  if (!document.ok) return { problems: document.problems, locate: locator(() => undefined) };
  const locate = locator(document.lineOf);
  const result = configurationSchema((name) => resolve(folder, name)).safeParse(document.data, {
    reportInput: true,
  });
  if (!result.success) return { problems: locate(result.error.issues.flatMap(problemsOfIssue)), locate };
  const whole = withAuthenticationFile(bodyOf(result.data), content);
  if ('problems' in whole) return { problems: whole.problems, locate };
  const { configuration, findings, isComplete, relocate } = whole;
  const found = isComplete ? validate(configuration).map(relocate) : [];
  return { configuration, problems: locate([...findings, ...found]), locate };
}

/**
 * Parses twice: the first pass finds the name of the AuthenticationConfiguration, the second includes it.
 *
 * @param read returns undefined for a file that cannot be read, which the caller reports
 */
export async function parseWithAuthenticationFile(
  text: string,
  folder: string,
  read: (name: string) => Promise<Buffer | undefined>,
): Promise<Parsed> {
  const first = parseConfiguration(text, folder);
  const name = first.configuration?.authentication.configurationFile;
  if (name === undefined) return first;
  const content = await read(name);
  return parseConfiguration(text, folder, () => content);
}

function bodyOf({ apiVersion: _version, kind: _kind, ...configuration }: Document): StonegateConfiguration {
  return configuration;
}

/** Adds path and line to findings. */
export function locator(lineOf: (path: Path) => number | undefined) {
  return (findings: readonly Finding[]): Problem[] =>
    findings.map(({ path, message, elsewhere }) => {
      if (elsewhere !== undefined) return elsewhere;
      const line = lineOf(path);
      return { path: formatPath(path), message, ...(line === undefined ? {} : { line }) };
    });
}

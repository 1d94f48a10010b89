/**
 * Parses the text of a configuration file into a configuration or a list of problems. It reads no other
 * file, so that a configuration can be checked before its certificates exist; `load.ts` reads those.
 */
import { resolve } from 'node:path';
import type { z } from 'zod';
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { type WithAuthenticationFile, withAuthenticationFile } from './authentication-file.ts';
import { readYAML } from './documents.ts';
import { type Finding, formatPath, type Path, type Problem, problemsOfIssue } from './problem.ts';
import { besideUnknownKeys, beyond, CONFIGURATION_STAND_INS, inFile, remainderOf } from './remainder.ts';
import { configurationSchema } from './schema.ts';
import { validate } from './validate.ts';

type Document = z.output<ReturnType<typeof configurationSchema>>;

export interface Parsed {
  /** Present if every field is valid by itself; rules about several fields may still be violated. */
  readonly configuration?: StonegateConfiguration;
  /**
   * Present if fields are invalid: the configuration with stand-ins for them, only for finding more
   * problems.
   */
  readonly remainder?: StonegateConfiguration;
  readonly problems: readonly Problem[];
  /** Adds path and line to findings, and drops those that only follow from an invalid field. */
  readonly locate: (findings: readonly Finding[]) => Problem[];
}

/**
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
  const schema = configurationSchema((name) => resolve(folder, name));
  const result = schema.safeParse(document.data, { reportInput: true });
  if (result.success) {
    const whole = withAuthenticationFile(bodyOf(result.data), content);
    return { configuration: whole.configuration, problems: problemsIn(whole, locate), locate };
  }
  const wrong = result.error.issues.flatMap(problemsOfIssue);
  const rest = remainderOf(document.data, wrong, schema, CONFIGURATION_STAND_INS);
  if (rest === undefined) return { problems: locate(wrong), locate };
  const whole = withAuthenticationFile(bodyOf(rest.value), content);
  const holders = result.error.issues
    .filter(({ code }) => code === 'unrecognized_keys')
    .map(({ path }) => path);
  const others = (findings: readonly Finding[]) =>
    locate(besideUnknownKeys(holders, document.data, beyond(rest.gaps, inFile(rest, findings))));
  return {
    remainder: whole.configuration,
    problems: [...locate(wrong), ...problemsIn(whole, others)],
    locate: others,
  };
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
  const name = (first.configuration ?? first.remainder)?.authentication.configurationFile;
  if (name === undefined) return first;
  const content = await read(name);
  return parseConfiguration(text, folder, () => content);
}

function problemsIn(whole: WithAuthenticationFile, locate: Parsed['locate']): Problem[] {
  const found = validate(whole.configuration).flatMap(whole.relocate);
  return [...locate([...whole.findings, ...beyond(whole.gaps, found)]), ...whole.problems];
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

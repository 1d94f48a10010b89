/**
 * The text of a configuration file → a configuration, or everything that is wrong with it. Reads no file: what
 * the files it names hold is `load.ts`' business, so that a configuration can be checked before its certificates
 * exist.
 */
import { resolve } from 'node:path';
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { type Finding, formatPath, type Path, type Problem, problemsOfIssue } from './problem.ts';
import { configurationSchema } from './schema.ts';
import { validate } from './validate.ts';
import { readYAML } from './yaml-document.ts';

export interface Parsed {
  /** Present where every field is right by itself; there may still be problems between fields. */
  readonly configuration?: StonegateConfiguration;
  readonly problems: readonly Problem[];
  /** Gives findings their place in words and their line. */
  readonly locate: (findings: readonly Finding[]) => Problem[];
}

/** @param folder what relative file names are relative to: the configuration file's own folder */
export function parseConfiguration(text: string, folder: string): Parsed {
  const document = readYAML(text);
  if (!document.ok) return { problems: document.problems, locate: locator(() => undefined) };
  const locate = locator(document.lineOf);
  const schema = configurationSchema((name) => resolve(folder, name));
  const result = schema.safeParse(document.data, { reportInput: true });
  if (!result.success) return { problems: locate(result.error.issues.flatMap(problemsOfIssue)), locate };
  const { apiVersion: _version, kind: _kind, ...configuration } = result.data;
  return { configuration, problems: locate(validate(configuration)), locate };
}

function locator(lineOf: (path: Path) => number | undefined) {
  return (findings: readonly Finding[]): Problem[] =>
    findings.map(({ path, message }) => {
      const line = lineOf(path);
      return { path: formatPath(path), message, ...(line === undefined ? {} : { line }) };
    });
}

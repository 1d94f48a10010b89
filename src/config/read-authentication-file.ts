/**
 * kube-apiserver's AuthenticationConfiguration, read field by field. What is wrong in it hides nothing of the rest.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import { type Finding, formatPath, type Path, type Problem, problemsOfIssue } from './problem.ts';
import { beyond, remainderOf } from './remainder.ts';
import { type AuthenticationFile, authenticationFileSchema } from './schema-authentication-file.ts';
import { AUTHENTICATION_FILE_STAND_INS } from './stand-ins.ts';
import { readYAML } from './yaml-document.ts';

/** What kube-apiserver's file says, as far as it can be read. */
export interface ReadAuthenticationFile extends AuthenticationFile {
  readonly problems: readonly Problem[];
  /** What is stood in for, or left out, because it is wrong. */
  readonly gaps: readonly Path[];
  readonly placeInFile: (path: Path) => Path;
  readonly lineOf: (path: Path) => number | undefined;
}

/** @param file its name, for problems */
export function readAuthenticationFile(
  text: string,
  file: string,
): ReadAuthenticationFile | Pick<ReadAuthenticationFile, 'problems'> {
  const document = readYAML(text, '1.1');
  if (!document.ok) return { problems: document.problems.map((problem) => ({ ...problem, file })) };
  const result = authenticationFileSchema.safeParse(document.data, { reportInput: true });
  const { lineOf } = document;
  if (result.success) return { ...result.data, problems: [], gaps: [], placeInFile: (path) => path, lineOf };
  const wrong = result.error.issues.flatMap(problemsOfIssue);
  const problems = wrong.map((finding) => problemIn(finding, file, lineOf));
  const rest = remainderOf(document.data, wrong, authenticationFileSchema, AUTHENTICATION_FILE_STAND_INS);
  if (rest === undefined) return { problems };
  return { ...rest.value, problems, gaps: rest.gaps, placeInFile: rest.placeInFile, lineOf };
}

export function problemIn(
  { path, message }: Finding,
  file: string,
  lineOf: ReadAuthenticationFile['lineOf'],
): Problem {
  const line = lineOf(path);
  return { file, path: formatPath(path), message, ...(line === undefined ? {} : { line }) };
}

/** @param path in what was read, without entries that were left out */
export function isKnown({ gaps, placeInFile }: ReadAuthenticationFile, path: Path): boolean {
  return beyond(gaps, [{ path: placeInFile(path), message: '' }]).length > 0;
}

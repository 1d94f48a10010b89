/**
 * What is left of a configuration without the fields that are wrong by themselves, so that what is wrong elsewhere is
 * told in the same run and not in the next.
 */
import { type Finding, type Path, problemsOfIssue } from './problem.ts';
import type { configurationSchema } from './schema.ts';

type Schema = ReturnType<typeof configurationSchema>;
type Container = Record<PropertyKey, unknown>;

/** A field that is removed may leave its parent incomplete, which is removed then, and so on upwards. */
const MAX_ROUNDS = 8;

/**
 * @param data as it stands in the file
 * @param problems of single fields
 * @returns undefined where too little is left to say more
 */
export function remainderOf(data: unknown, problems: readonly Finding[], schema: Schema) {
  const rest: unknown = structuredClone(data);
  let wrong: readonly Path[] = problems.map(({ path }) => path);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (!wrong.every((path) => remove(rest, path))) return undefined;
    const result = schema.safeParse(rest, { reportInput: true });
    if (result.success) return result.data;
    wrong = result.error.issues.flatMap(problemsOfIssue).map(({ path }) => path);
  }
  return undefined;
}

/** Findings that say nothing of what was removed: what is missing only because of that is no news. */
export function beyond(problems: readonly Finding[], findings: readonly Finding[]): Finding[] {
  return findings.filter(({ path }) => !problems.some((problem) => touches(problem.path, path)));
}

/** Removes the field; where it is not there, what should hold it. A list's entries keep their places, so none goes. */
function remove(data: unknown, path: Path): boolean {
  const key = path.at(-1);
  if (key === undefined || typeof key === 'number') return false;
  const holder = path.slice(0, -1).reduce<unknown>((part, step) => memberOf(part, step), data);
  if (isContainer(holder) && Object.hasOwn(holder, key)) {
    delete holder[key];
    return true;
  }
  return remove(data, path.slice(0, -1));
}

function memberOf(part: unknown, step: PropertyKey): unknown {
  return isContainer(part) && Object.hasOwn(part, step) ? part[step] : undefined;
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

/** Whether one path leads to or through the other. */
function touches(one: Path, other: Path): boolean {
  const length = Math.min(one.length, other.length);
  return one.slice(0, length).every((step, index) => step === other[index]);
}

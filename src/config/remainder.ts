/**
 * What is left of a document without the fields that are wrong by themselves, so that what is wrong elsewhere is told in
 * the same run and not in the next. Where a field must be there, a stand-in takes its place. Of what was left out or
 * stood in for, and of what only follows from that, nothing is told: it would be about no file of anybody's.
 */
import type { z } from 'zod';
import { type Finding, type Path, problemsOfIssue } from './problem.ts';

export interface Remainder<T> {
  readonly value: T;
  /** Where it differs from the file; places as in the file. */
  readonly gaps: readonly Path[];
  /** A place in `value` → the same in the file: entries of lists that were left out count there. */
  readonly placeInFile: (path: Path) => Path;
}

type Container = Record<PropertyKey, unknown>;

/** Each removes a field, puts a stand-in there, or goes one level up; nothing here is nested half as deep. */
const MAX_ROUNDS = 16;

/**
 * @param data as it stands in the file
 * @param problems of single fields
 * @param standIns a document with what takes the place of required fields; its lists have one entry, for all
 * @returns undefined where nothing is left to say more of
 */
export function remainderOf<T>(
  data: unknown,
  problems: readonly Finding[],
  schema: z.ZodType<T>,
  standIns: object,
): Remainder<T> | undefined {
  const rest = unshared(data);
  const gaps: Path[] = [];
  let wrong: readonly Path[] = problems.map(({ path }) => path);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const removed: Path[] = [];
    for (const path of wrong) {
      if (removed.some((gap) => isWithin(path, gap))) continue;
      const gap = leaveOut(rest, path, standIns);
      if (gap === undefined) return undefined;
      removed.push(gap);
    }
    gaps.push(...removed);
    const result = schema.safeParse(withoutHoles(rest), { reportInput: true });
    const placeInFile = (path: Path) => placeIn(rest, path);
    if (result.success) return { value: result.data, gaps, placeInFile };
    wrong = result.error.issues.flatMap(problemsOfIssue).map(({ path }) => placeInFile(path));
  }
  return undefined;
}

/** A copy in which nothing stands in two places, as behind an anchor of YAML: each place is mended by itself. */
function unshared(value: unknown, within: readonly object[] = []): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (within.includes(value)) return undefined;
  const inside = [...within, value];
  if (Array.isArray(value)) return value.map((entry) => unshared(entry, inside));
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unshared(entry, inside)]));
}

/** Findings that neither concern what was left out nor follow from it. */
export function beyond(gaps: readonly Path[], findings: readonly Finding[]): Finding[] {
  return findings.filter(({ path, because = [] }) =>
    [path, ...because].every((place) => !gaps.some((gap) => isWithin(gap, place) || isWithin(place, gap))),
  );
}

/** The same findings at the places of the file. */
export function inFile({ placeInFile }: Remainder<unknown>, findings: readonly Finding[]): Finding[] {
  return findings.map((finding) => ({
    ...finding,
    path: placeInFile(finding.path),
    because: finding.because?.map(placeInFile) ?? [],
  }));
}

/**
 * Removes the field; where it is missing, puts a stand-in there, or removes what should hold it. An entry of a list
 * leaves a hole: the others keep their places.
 *
 * @returns what was removed or stood in for
 */
function leaveOut(rest: unknown, path: Path, standIns: object): Path | undefined {
  const key = path.at(-1);
  if (key === undefined) return undefined;
  const parent = path.slice(0, -1);
  const holder = parent.reduce<unknown>(memberOf, rest);
  if (isContainer(holder)) {
    const standIn = path
      .map((step) => (typeof step === 'number' ? 0 : step))
      .reduce<unknown>(memberOf, standIns);
    if (memberOf(holder, key) !== undefined) {
      if (Array.isArray(holder)) holder[key] = undefined;
      else delete holder[key];
      return path;
    }
    if (standIn !== undefined) {
      holder[key] = structuredClone(standIn);
      return path;
    }
  }
  return leaveOut(rest, parent, standIns);
}

function withoutHoles(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((entry) => entry !== undefined).map(withoutHoles);
  if (!isContainer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutHoles(member)]));
}

/** @param path in `rest` without its holes */
function placeIn(rest: unknown, path: Path): Path {
  let node: unknown = rest;
  return path.map((step) => {
    const place = Array.isArray(node) && typeof step === 'number' ? (filledPlaces(node)[step] ?? step) : step;
    node = memberOf(node, place);
    return place;
  });
}

function filledPlaces(list: readonly unknown[]): number[] {
  return [...list.keys()].filter((place) => list[place] !== undefined);
}

function memberOf(part: unknown, step: PropertyKey): unknown {
  return isContainer(part) && Object.hasOwn(part, step) ? part[step] : undefined;
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

function isWithin(path: Path, outer: Path): boolean {
  return outer.every((step, index) => step === path[index]);
}

// FROM src/config/stand-ins.ts
/*!
 * What takes the place of a required field that is wrong or missing, so that the rest can be looked at: the least that
 * the schema accepts. Nothing is ever told of a stand-in, and nothing is served with one.
 */

/** A file that is there and empty. */
const FILE = '/dev/null';
const NAME = 'stand-in';

const TLS = { certFile: FILE, keyFile: FILE, clientCAFile: FILE };

export const CONFIGURATION_STAND_INS = {
  apiVersion: 'stonegate.dev/v1alpha1',
  kind: 'StonegateConfiguration',
  server: { tls: { certFile: FILE, keyFile: FILE } },
  upstream: { server: 'https://stand-in.invalid', credential: { tokenFile: FILE } },
  tenancy: { mode: 'arktos' },
  authentication: {
    keystone: { url: 'https://stand-in.invalid/v3' },
    jwt: [
      {
        issuer: { url: 'https://stand-in.invalid', audiences: [NAME] },
        claimMappings: { username: { claim: 'sub', prefix: `${NAME}:` } },
        tenant: { value: NAME },
      },
    ],
    tokenFile: { file: FILE },
    basicAuthFile: { file: FILE },
    clientCertificates: { caFile: FILE },
  },
  cache: { redis: { url: { fromFile: FILE } } },
  portal: {
    publicURL: 'https://portal.stand-in.invalid',
    tls: { certFile: FILE, keyFile: FILE },
    kubernetes: { server: 'https://stand-in.invalid' },
    oidc: [{ name: NAME, issuer: 'https://stand-in.invalid', clientID: NAME, displayName: NAME }],
  },
  webhook: { tls: TLS },
};

/** Not for its version and kind: of another kind of file nothing can be said. */
export const AUTHENTICATION_FILE_STAND_INS = {
  jwt: [
    {
      issuer: { url: 'https://stand-in.invalid', audiences: [NAME] },
      claimMappings: { username: { claim: 'sub', prefix: `${NAME}:` } },
    },
  ],
};

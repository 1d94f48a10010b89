/**
 * The part of a document that is valid without its invalid fields, so that one run reports problems of all
 * sections. Required fields that are missing get a stand-in value. Problems of stand-ins, and problems that
 * only follow from a removed field, are not reported.
 */
import type { z } from 'zod';
import { type Finding, type Path, problemsOfIssue } from './problem.ts';

export interface Remainder<T> {
  readonly value: T;
  /** Paths, as in the file, at which `value` differs from it. */
  readonly gaps: readonly Path[];
  /** Converts a path in `value` to the path in the file, whose indices count removed list entries. */
  readonly placeInFile: (path: Path) => Path;
}

type Container = Record<PropertyKey, unknown>;

/**
 * Each round removes a field, inserts a stand-in or moves one level up. The schema is less than half as
 * deep.
 */
const MAX_ROUNDS = 16;

/**
 * @param data the content of the file
 * @param problems the invalid fields
 * @param standIns a document with values for required fields; a list has one entry, used for all
 * @returns undefined if no valid part remains
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

/** A copy without shared values (YAML aliases), so that each occurrence can be changed separately. */
function unshared(value: unknown, within: readonly object[] = []): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (within.includes(value)) return undefined;
  const inside = [...within, value];
  if (Array.isArray(value)) return value.map((entry) => unshared(entry, inside));
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unshared(entry, inside)]));
}

/** Findings that neither concern a removed field nor follow from one. */
export function beyond(gaps: readonly Path[], findings: readonly Finding[]): Finding[] {
  return findings.filter(({ path, because = [] }) =>
    [path, ...because].every((place) => !gaps.some((gap) => isWithin(gap, place) || isWithin(place, gap))),
  );
}

/**
 * Without the findings that depend on a field that is missing beside a key that is not known: the key is
 * probably that field, misspelled.
 *
 * @param holders the mappings with a key that is not known
 * @param data the content of the file
 */
export function besideUnknownKeys(
  holders: readonly Path[],
  data: unknown,
  findings: readonly Finding[],
): Finding[] {
  const isMissing = (place: Path): boolean =>
    place.some(
      (_, at) =>
        place.slice(0, at + 1).reduce<unknown>(memberOf, data) === undefined &&
        holders.some((holder) => holder.length === at && isWithin(place, holder)),
    );
  return findings.filter(({ because = [] }) => !because.some(isMissing));
}

/** The findings with paths as in the file. */
export function inFile({ placeInFile }: Remainder<unknown>, findings: readonly Finding[]): Finding[] {
  return findings.map((finding) => ({
    ...finding,
    path: placeInFile(finding.path),
    because: finding.because?.map(placeInFile) ?? [],
  }));
}

/**
 * Removes the field; if it is missing, inserts a stand-in or removes its parent. A removed list entry leaves
 * a hole, so that the others keep their indexes.
 *
 * @returns the path that was removed or replaced
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

/** @param path in `rest` without holes */
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

/** An existing, empty file. */
const FILE = '/dev/null';
const NAME = 'stand-in';

const TLS = { certFile: FILE, keyFile: FILE, clientCAFile: FILE };

/** The smallest values that the schema accepts for required fields. They are never served or reported. */
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
  admission: { tls: { certFile: FILE, keyFile: FILE } },
};

/** Without version and kind: the fields of another kind of file are unknown. */
export const AUTHENTICATION_FILE_STAND_INS = {
  jwt: [
    {
      issuer: { url: 'https://stand-in.invalid', audiences: [NAME] },
      claimMappings: { username: { claim: 'sub', prefix: `${NAME}:` } },
    },
  ],
};

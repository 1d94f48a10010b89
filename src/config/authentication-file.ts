/**
 * Reads kube-apiserver's AuthenticationConfiguration, which may replace `authentication.jwt`, together with
 * the tenants that `authentication.tenants` assigns to its issuers. Problems are reported for the file in
 * which the operator can fix them.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import { basename } from 'node:path';
import type { JWTConfiguration, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { readYAML } from './documents.ts';
import { type Finding, formatPath, type Path, type Problem, problemsOfIssue } from './problem.ts';
import { AUTHENTICATION_FILE_STAND_INS, beyond, remainderOf } from './remainder.ts';
import { type AuthenticationFile, authenticationFileSchema } from './schema-authentication-file.ts';
import { KUBERNETES_VERIFICATION } from './schema-jwt.ts';

const JWT = ['authentication', 'jwt'];

export interface WithAuthenticationFile {
  readonly configuration: StonegateConfiguration;
  /** Problems in Stonegate's own file. */
  readonly findings: readonly Finding[];
  /** Problems in the AuthenticationConfiguration. */
  readonly problems: readonly Problem[];
  /** Parts of `configuration` that are incomplete because of other problems. */
  readonly gaps: readonly Path[];
  /**
   * Moves a problem of `configuration` to the file in which it can be fixed; empty if it follows from
   * another problem.
   */
  readonly relocate: (finding: Finding) => readonly Finding[];
}

/**
 * @param content returns the content of a named file; undefined if it was not or could not be read
 */
export function withAuthenticationFile(
  configuration: StonegateConfiguration,
  content: (name: string) => Buffer | undefined,
): WithAuthenticationFile {
  const { configurationFile, tenants } = configuration.authentication;
  const alone = {
    configuration,
    problems: [],
    gaps: [],
    relocate: (finding: Finding) => [finding],
  };
  if (configurationFile === undefined) {
    return { ...alone, findings: Object.keys(tenants).map((url) => tenantWithoutFile(url)) };
  }
  const findings = bothSources(configuration);
  const text = content(configurationFile);
  if (text === undefined) return { ...alone, findings, gaps: [JWT] };
  const file = basename(configurationFile);
  const read = readAuthenticationFile(text.toString('utf8'), file);
  if (!('jwt' in read)) return { ...alone, findings, problems: read.problems, gaps: [JWT] };
  const issuers = read.jwt.flatMap((entry, index) => {
    const tenant = Object.hasOwn(tenants, entry.issuer.url) ? tenants[entry.issuer.url] : undefined;
    return tenant === undefined
      ? []
      : [{ index, entry: { ...KUBERNETES_VERIFICATION, ...entry, ...tenant } }];
  });
  const { authentication } = configuration;
  return {
    configuration: {
      ...configuration,
      authentication: {
        ...authentication,
        jwt: issuers.map(({ entry }) => entry),
        anonymous: read.anonymous ?? authentication.anonymous,
      },
    },
    findings: [...findings, ...withoutCounterpart(read, tenants), ...anonymousInBoth(read, configuration)],
    problems: read.problems,
    gaps: issuers.length === read.jwt.length && read.gaps.length === 0 ? [] : [JWT],
    relocate: (finding) => relocated(finding, read, issuers, file),
  };
}

function tenantWithoutFile(url: string): Finding {
  return {
    path: ['authentication', 'tenants', url],
    message: 'expected only beside configurationFile; an entry of authentication.jwt has a tenant of its own',
  };
}

function bothSources({ authentication }: StonegateConfiguration): Finding[] {
  if (authentication.jwt.length === 0) return [];
  return [
    {
      path: ['authentication', 'configurationFile'],
      message: 'expected either jwt or configurationFile, found both',
    },
  ];
}

function anonymousInBoth(
  { anonymous }: ReadAuthenticationFile,
  { authentication }: StonegateConfiguration,
): Finding[] {
  if (anonymous === undefined || !authentication.anonymous.enabled) return [];
  return [
    {
      path: ['authentication', 'anonymous'],
      message: 'expected it here or in configurationFile, found it in both',
    },
  ];
}

/** An issuer without a tenant can have no users; a tenant without an issuer has a mistyped URL. */
function withoutCounterpart(
  read: ReadAuthenticationFile,
  tenants: Readonly<Record<string, unknown>>,
): Finding[] {
  const known = read.jwt.filter((_, index) => isKnown(read, ['jwt', index, 'issuer', 'url']));
  const urls = new Set(known.map(({ issuer }) => issuer.url));
  const unknown = isKnown(read, ['jwt']) ? Object.keys(tenants).filter((url) => !urls.has(url)) : [];
  return [
    ...[...urls]
      .filter((url) => !Object.hasOwn(tenants, url))
      .map((url) => ({
        path: ['authentication', 'tenants'],
        message: `expected an entry for each issuer of configurationFile, found none for ${url}`,
      })),
    ...unknown.map((url) => ({
      path: ['authentication', 'tenants', url],
      message: 'expected the URL of an issuer of configurationFile, exactly as it stands there',
    })),
  ];
}

const BESIDE = new Set<PropertyKey>(['usernamePrefix', 'groupsPrefix']);

/** A path in Stonegate's own file or in the AuthenticationConfiguration. */
type FieldLocation = { readonly own: Path } | { readonly other: Path };

function relocated(
  { path, message, because = [] }: Finding,
  read: ReadAuthenticationFile,
  issuers: Issuers,
  file: string,
): Finding[] {
  const places = [path, ...because].map((each) => placeOf(each, read, issuers));
  if (!places.every((place) => 'own' in place || isKnown(read, place.other))) return [];
  const [first, ...others] = places;
  const finding = { message, because: others.flatMap((place) => ('own' in place ? [place.own] : [])) };
  if (first === undefined || 'own' in first) return [{ ...finding, path: first?.own ?? path }];
  const { placeInFile, lineOf } = read;
  const elsewhere = problemIn({ path: placeInFile(first.other), message }, file, lineOf);
  return [{ ...finding, path: ['authentication', 'configurationFile'], elsewhere }];
}

type Issuers = readonly { readonly index: number; readonly entry: JWTConfiguration }[];

function placeOf(path: Path, read: ReadAuthenticationFile, issuers: Issuers): FieldLocation {
  const [section, field, place, key, ...rest] = path;
  if (section !== 'authentication') return { own: path };
  if (field === 'anonymous' && read.anonymous !== undefined) return { other: path.slice(1) };
  const issuer = typeof place === 'number' ? issuers[place] : undefined;
  if (field !== 'jwt' || issuer === undefined || key === undefined) return { own: path };
  const beside = ['authentication', 'tenants', issuer.entry.issuer.url];
  if (key === 'tenant') return { own: [...beside, ...rest] };
  if (BESIDE.has(key)) return { own: [...beside, key] };
  return { other: ['jwt', issuer.index, key, ...rest] };
}

/** The valid part of kube-apiserver's file. */
export interface ReadAuthenticationFile extends AuthenticationFile {
  readonly problems: readonly Problem[];
  /** Invalid fields, which were removed or replaced by stand-ins. */
  readonly gaps: readonly Path[];
  readonly placeInFile: (path: Path) => Path;
  readonly lineOf: (path: Path) => number | undefined;
}

/** @param file name for problem messages */
function readAuthenticationFile(
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

function problemIn(
  { path, message }: Finding,
  file: string,
  lineOf: ReadAuthenticationFile['lineOf'],
): Problem {
  const line = lineOf(path);
  return { file, path: formatPath(path), message, ...(line === undefined ? {} : { line }) };
}

/** @param path in the parsed result, in which invalid entries are missing */
function isKnown({ gaps, placeInFile }: ReadAuthenticationFile, path: Path): boolean {
  return beyond(gaps, [{ path: placeInFile(path), message: '' }]).length > 0;
}

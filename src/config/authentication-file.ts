/**
 * Reads kube-apiserver's AuthenticationConfiguration, which may replace `authentication.jwt`, together with
 * the tenants that `authentication.tenants` assigns to its issuers. Problems are reported for the file in
 * which the operator can fix them.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import { basename } from 'node:path';
import { KUBERNETES_VERIFICATION } from '../identity/jwt/jwt-configuration.ts';
import type { CoreConfiguration } from './core-configuration.ts';
import { readYAML } from './documents.ts';
import {
  broken,
  type Finding,
  formatPath,
  PARSE_OPTIONS,
  type Path,
  type Problem,
  problemsOfIssue,
} from './problem.ts';
import { type AuthenticationFile, authenticationFileSchema } from './schema-authentication-file.ts';

/** The configuration with the issuers of the file, or the problems of the file's own fields. */
export type WithAuthenticationFile<C> =
  | { readonly problems: readonly Problem[] }
  | {
      readonly configuration: C;
      /** Problems in Stonegate's own file. */
      readonly findings: readonly Finding[];
      /** Whether each issuer is in `configuration`. */
      readonly isComplete: boolean;
      /** Moves a problem of `configuration` to the file in which it can be fixed. */
      readonly relocate: (finding: Finding) => Finding;
    };

/**
 * @param content returns the content of a named file; undefined if it was not or could not be read
 */
export function withAuthenticationFile<C extends Pick<CoreConfiguration, 'authentication'>>(
  configuration: C,
  content: (name: string) => Buffer | undefined,
): WithAuthenticationFile<C> {
  const { configurationFile, tenants } = configuration.authentication;
  const alone = { configuration, isComplete: true, relocate: (finding: Finding) => finding };
  if (configurationFile === undefined) {
    return { ...alone, findings: Object.keys(tenants).map((url) => tenantWithoutFile(url)) };
  }
  const findings = broken([
    [
      'authentication.configurationFile',
      configuration.authentication.jwt.length > 0,
      'expected either jwt or configurationFile, found both',
    ],
  ]);
  const text = content(configurationFile);
  if (text === undefined) return { ...alone, findings, isComplete: false };
  const file = basename(configurationFile);
  const read = readAuthenticationFile(text.toString('utf8'), file);
  if ('problems' in read) return read;
  const jwt = read.jwt.flatMap((entry) => {
    const tenant = Object.hasOwn(tenants, entry.issuer.url) ? tenants[entry.issuer.url] : undefined;
    return tenant === undefined ? [] : [{ ...KUBERNETES_VERIFICATION, ...entry, ...tenant }];
  });
  const { authentication } = configuration;
  return {
    configuration: {
      ...configuration,
      authentication: {
        ...authentication,
        jwt,
        anonymous: read.anonymous ?? authentication.anonymous,
      },
    },
    findings: [
      ...findings,
      ...withoutCounterpart(read, tenants),
      ...broken([
        [
          'authentication.anonymous',
          read.anonymous !== undefined && authentication.anonymous.enabled,
          'expected it here or in configurationFile, found it in both',
        ],
      ]),
    ],
    isComplete: jwt.length === read.jwt.length,
    relocate: (finding) => relocated(finding, read, file),
  };
}

function tenantWithoutFile(url: string): Finding {
  return {
    path: ['authentication', 'tenants', url],
    message: 'expected only with configurationFile; an entry of authentication.jwt has a tenant of its own',
  };
}

/** An issuer without a tenant can have no users; a tenant without an issuer has a mistyped URL. */
function withoutCounterpart(
  read: ReadAuthenticationFile,
  tenants: Readonly<Record<string, unknown>>,
): Finding[] {
  const urls = new Set(read.jwt.map(({ issuer }) => issuer.url));
  const unknown = Object.keys(tenants).filter((url) => !urls.has(url));
  return [
    ...[...urls]
      .filter((url) => !Object.hasOwn(tenants, url))
      .map((url) => ({
        path: ['authentication', 'tenants'],
        message: `expected an entry for each issuer of configurationFile, found none for ${url}`,
      })),
    ...unknown.map((url) => ({
      path: ['authentication', 'tenants', url],
      message: 'expected the URL of an issuer of configurationFile, exactly as it is written there',
    })),
  ];
}

const BESIDE = new Set<PropertyKey>(['usernamePrefix', 'groupsPrefix', 'login']);

/** A path in Stonegate's own file or in the AuthenticationConfiguration. */
type FieldLocation = { readonly own: Path } | { readonly other: Path };

/** Called only if every issuer of the file is in the configuration, at the same index. */
function relocated(finding: Finding, read: ReadAuthenticationFile, file: string): Finding {
  const place = placeOf(finding.path, read);
  if ('own' in place) return { ...finding, path: place.own };
  const elsewhere = problemIn({ path: place.other, message: finding.message }, file, read.lineOf);
  return { message: finding.message, path: ['authentication', 'configurationFile'], elsewhere };
}

function placeOf(path: Path, read: ReadAuthenticationFile): FieldLocation {
  const [section, field, place, key, ...rest] = path;
  if (section !== 'authentication') return { own: path };
  if (field === 'anonymous' && read.anonymous !== undefined) return { other: path.slice(1) };
  const entry = typeof place === 'number' ? read.jwt[place] : undefined;
  if (field !== 'jwt' || entry === undefined || key === undefined) return { own: path };
  const beside = ['authentication', 'tenants', entry.issuer.url];
  if (key === 'tenant') return { own: [...beside, ...rest] };
  if (BESIDE.has(key)) return { own: [...beside, key, ...rest] };
  return { other: path.slice(1) };
}

interface ReadAuthenticationFile extends AuthenticationFile {
  readonly lineOf: (path: Path) => number | undefined;
}

/** @param file name for problem messages */
function readAuthenticationFile(
  text: string,
  file: string,
): ReadAuthenticationFile | { readonly problems: readonly Problem[] } {
  const document = readYAML(text, '1.1');
  if (!document.ok) return { problems: document.problems.map((problem) => ({ ...problem, file })) };
  const result = authenticationFileSchema.safeParse(document.data, PARSE_OPTIONS);
  const { lineOf } = document;
  if (result.success) return { ...result.data, lineOf };
  const wrong = result.error.issues.flatMap(problemsOfIssue);
  return { problems: wrong.map((finding) => problemIn(finding, file, lineOf)) };
}

function problemIn(
  { path, message }: Finding,
  file: string,
  lineOf: ReadAuthenticationFile['lineOf'],
): Problem {
  const line = lineOf(path);
  return { file, path: formatPath(path), message, ...(line === undefined ? {} : { line }) };
}

/**
 * Reads kube-apiserver's AuthenticationConfiguration in place of `authentication.jwt`, with the tenants that
 * `authentication.tenants` gives its issuers. From here on nobody asks whose file an issuer stands in; only a problem
 * is told where it can be mended, in one file or the other.
 */
import { basename } from 'node:path';
import type { JWTConfiguration, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { type Finding, formatPath, type Path, type Problem, problemsOfIssue } from './problem.ts';
import { type AuthenticationFile, authenticationFileSchema } from './schema-authentication-file.ts';
import { verification } from './schema-jwt.ts';
import { readYAML } from './yaml-document.ts';

export interface WithAuthenticationFile {
  readonly configuration: StonegateConfiguration;
  /** What is wrong in Stonegate's own file, because of the other. */
  readonly findings: readonly Finding[];
  /** What is wrong in the other. */
  readonly problems: readonly Problem[];
  /** False where what is wrong elsewhere may be no more than a consequence. */
  readonly complete: boolean;
  /** Where a problem with the configuration is to be mended: a place in Stonegate's own file, or a problem of the other. */
  readonly relocate: (finding: Finding) => { readonly own: Finding } | { readonly other: Problem };
}

/**
 * @param content of the file a configuration names; undefined where it cannot be read, or nobody has tried
 */
export function withAuthenticationFile(
  configuration: StonegateConfiguration,
  content: (name: string) => Buffer | undefined,
): WithAuthenticationFile {
  const { configurationFile, tenants } = configuration.authentication;
  const alone = {
    configuration,
    problems: [],
    complete: true,
    relocate: (finding: Finding) => ({ own: finding }),
  };
  if (configurationFile === undefined) {
    return { ...alone, findings: Object.keys(tenants).map((url) => unasked(url)) };
  }
  const findings = contradictions(configuration);
  const text = content(configurationFile);
  if (text === undefined) return { ...alone, findings, complete: false };
  const file = basename(configurationFile);
  const read = readFile(text.toString('utf8'), file);
  if ('problems' in read) return { ...alone, findings, problems: read.problems, complete: false };
  const issuers = read.jwt.flatMap((entry, index) => {
    const tenant = Object.hasOwn(tenants, entry.issuer.url) ? tenants[entry.issuer.url] : undefined;
    return tenant === undefined ? [] : [{ index, entry: { ...verification.parse({}), ...entry, ...tenant } }];
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
    findings: [...findings, ...withoutCounterpart(read, tenants), ...twiceAnonymous(read, configuration)],
    problems: [],
    complete: issuers.length === read.jwt.length,
    relocate: (finding) => relocated(finding, read, issuers, file),
  };
}

type Read = AuthenticationFile & { readonly lineOf: (path: Path) => number | undefined };

function readFile(text: string, file: string): Read | { readonly problems: readonly Problem[] } {
  const document = readYAML(text);
  if (!document.ok) return { problems: document.problems.map((problem) => ({ ...problem, file })) };
  const result = authenticationFileSchema.safeParse(document.data, { reportInput: true });
  if (result.success) return { ...result.data, lineOf: document.lineOf };
  return {
    problems: result.error.issues
      .flatMap(problemsOfIssue)
      .map((finding) => problemIn(finding, file, document.lineOf)),
  };
}

function problemIn({ path, message }: Finding, file: string, lineOf: Read['lineOf']): Problem {
  const line = lineOf(path);
  return { file, path: formatPath(path), message, ...(line === undefined ? {} : { line }) };
}

function unasked(url: string): Finding {
  return {
    path: ['authentication', 'tenants', url],
    message: 'expected only beside configurationFile; an entry of authentication.jwt has a tenant of its own',
  };
}

function contradictions({ authentication }: StonegateConfiguration): Finding[] {
  if (authentication.jwt.length === 0) return [];
  return [
    {
      path: ['authentication', 'configurationFile'],
      message: 'expected either jwt or configurationFile, found both',
    },
  ];
}

function twiceAnonymous({ anonymous }: Read, { authentication }: StonegateConfiguration): Finding[] {
  if (anonymous === undefined || !authentication.anonymous.enabled) return [];
  return [
    {
      path: ['authentication', 'anonymous'],
      message: 'expected it here or in configurationFile, found it in both',
    },
  ];
}

/** Who is of no tenant could not be let in, and a tenant for nobody is a mistyped URL. */
function withoutCounterpart({ jwt }: Read, tenants: Readonly<Record<string, unknown>>): Finding[] {
  const urls = new Set(jwt.map(({ issuer }) => issuer.url));
  return [
    ...[...urls]
      .filter((url) => !Object.hasOwn(tenants, url))
      .map((url) => ({
        path: ['authentication', 'tenants'],
        message: `expected an entry for each issuer of configurationFile, found none for ${url}`,
      })),
    ...Object.keys(tenants)
      .filter((url) => !urls.has(url))
      .map((url) => ({
        path: ['authentication', 'tenants', url],
        message: 'expected the URL of an issuer of configurationFile, exactly as it stands there',
      })),
  ];
}

const BESIDE = new Set<PropertyKey>(['usernamePrefix', 'groupsPrefix']);

function relocated(
  finding: Finding,
  read: Read,
  issuers: readonly { readonly index: number; readonly entry: JWTConfiguration }[],
  file: string,
): ReturnType<WithAuthenticationFile['relocate']> {
  const [section, field, place, key, ...rest] = finding.path;
  if (section !== 'authentication') return { own: finding };
  if (field === 'anonymous' && read.anonymous !== undefined) {
    return { other: problemIn({ ...finding, path: finding.path.slice(1) }, file, read.lineOf) };
  }
  const issuer = typeof place === 'number' ? issuers[place] : undefined;
  if (field !== 'jwt' || issuer === undefined || key === undefined) return { own: finding };
  const beside = ['authentication', 'tenants', issuer.entry.issuer.url];
  if (key === 'tenant') return { own: { ...finding, path: [...beside, ...rest] } };
  if (BESIDE.has(key)) return { own: { ...finding, path: [...beside, key] } };
  return {
    other: problemIn({ ...finding, path: ['jwt', issuer.index, key, ...rest] }, file, read.lineOf),
  };
}

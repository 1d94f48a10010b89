/**
 * Reads `authorization.abacPolicyFile`: one Policy of `abac.authorization.kubernetes.io/v1beta1` a line, with
 * the fields `name`, `tenant` and `space`. Every field is required: in kube-apiserver's files a missing one,
 * or a `*` beside another condition, stands for everything.
 * https://kubernetes.io/docs/reference/access-authn-authz/abac/#policy-file-format
 */
import { basename } from 'node:path';
import type { StonegateConfiguration } from '../../config/configuration.ts';
import { type Finding, formatPath, type Path, type Problem, problemsOfIssue } from '../../config/problem.ts';
import { isEnterable, isOneTenant } from '../../kubernetes/reserved-names.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { parseStrictJSON } from '../../lib/strict-json.ts';
import { type GrantableRule, grantableRules } from '../../rbac/grantable-rules.ts';
import {
  ABAC_API_VERSION,
  type AbacLine,
  abacLineSchema,
  patternProblem,
  rulesOfPattern,
} from './abac-schema.ts';
import type { Policy } from './policy.ts';

/** Bytes of the longest line. */
const MAX_LINE_LENGTH = 4_096;
const MAX_LINES = 10_000;
const JSON_LIMITS = { depth: 4, nodes: 64 };

export interface AbacFile {
  readonly policies: readonly Policy[];
  /** Problems with line numbers; if there are any, the file is not used. */
  readonly problems: readonly Pick<Problem, 'path' | 'message' | 'line'>[];
}

export interface AbacFileRules {
  readonly systemTenant: string;
  /** What policies may grant. */
  readonly grantable: readonly GrantableRule[];
}

/** The policies of the file that the configuration names; none without one. */
export function abacPoliciesOf(
  { authorization, access, tenancy }: Pick<StonegateConfiguration, 'authorization' | 'access' | 'tenancy'>,
  content: (file: string) => Buffer | undefined,
): AbacFile {
  const { abacPolicyFile } = authorization;
  const bytes = abacPolicyFile === undefined ? undefined : content(abacPolicyFile);
  if (bytes === undefined) return { policies: [], problems: [] };
  return parseAbacFile(bytes, {
    systemTenant: tenancy.systemTenant,
    grantable: grantableRules(access.grantable),
  });
}

export function checkAbacFile(
  configuration: StonegateConfiguration,
  content: (file: string) => Buffer | undefined,
): Finding[] {
  const { abacPolicyFile } = configuration.authorization;
  if (abacPolicyFile === undefined) return [];
  const file = basename(abacPolicyFile);
  return abacPoliciesOf(configuration, content).problems.map((problem) => ({
    path: ['authorization', 'abacPolicyFile'],
    message: problem.message,
    elsewhere: { file, ...problem },
  }));
}

export function parseAbacFile(content: Buffer, rules: AbacFileRules): AbacFile {
  // One character for each byte. The last line may end with a line break.
  const lines = content.toString('latin1').replace(/\n$/, '').split('\n');
  if (lines.length > MAX_LINES)
    return {
      policies: [],
      problems: [{ path: '', message: `expected at most ${MAX_LINES} lines, found ${lines.length}` }],
    };
  const policies = new Map<string, Policy>();
  const problems: AbacFile['problems'][number][] = [];
  for (const [index, text] of lines.entries()) {
    const line = index + 1;
    if (isSkipped(text)) continue;
    const read = readLine(Buffer.from(text, 'latin1'), line, rules);
    const taken = 'policy' in read ? policies.get(read.policy.name) : undefined;
    const found =
      'policy' in read
        ? taken === undefined
          ? []
          : refused(['spec', 'name'], `expected a name of its own, found the one of ${taken.source}`).findings
        : read.findings;
    problems.push(...found.map(({ path, message }) => ({ path: formatPath(path), message, line })));
    if ('policy' in read && taken === undefined) policies.set(read.policy.name, read.policy);
  }
  return { policies: problems.length === 0 ? [...policies.values()] : [], problems };
}

/** A blank line or a comment. */
function isSkipped(line: string): boolean {
  return /^[ \t\r]*(?:#|$)/.test(line);
}

type ReadLine = { readonly policy: Policy } | { readonly findings: readonly Finding[] };

function readLine(bytes: Buffer, line: number, rules: AbacFileRules): ReadLine {
  if (bytes.length > MAX_LINE_LENGTH)
    return refused([], `expected at most ${MAX_LINE_LENGTH} bytes, found ${bytes.length}`);
  let data: unknown;
  try {
    data = parseStrictJSON(bytes, JSON_LIMITS);
  } catch (error) {
    if (error instanceof SyntaxError) return refused([], `expected one JSON object: ${error.message}`);
    throw error;
  }
  if (isJSONObject(data) && !('apiVersion' in data) && !('kind' in data))
    return refused(
      [],
      `expected apiVersion ${ABAC_API_VERSION} and kind Policy, found neither: in lines without them a missing field would stand for everything`,
    );
  const result = abacLineSchema.safeParse(data, { reportInput: true });
  if (!result.success) return { findings: result.error.issues.flatMap(problemsOfIssue) };
  const findings = placeProblems(result.data.spec, rules.systemTenant);
  if (findings.length > 0) return { findings };
  return policyOf(result.data, line, rules.grantable);
}

function placeProblems({ tenant, space }: AbacLine['spec'], systemTenant: string): Finding[] {
  const findings: Finding[] = [];
  const enters = 'expected the name of one tenant that users of others may enter';
  if (!isOneTenant(tenant))
    findings.push({
      path: ['spec', 'tenant'],
      message: `expected the name of one tenant, found "${tenant}"`,
    });
  if (!isEnterable(space, systemTenant))
    findings.push({ path: ['spec', 'space'], message: `${enters}, found "${space}"` });
  else if (space === tenant)
    findings.push({ path: ['spec', 'space'], message: `${enters}, found that of the user` });
  return findings;
}

function policyOf({ spec }: AbacLine, line: number, grantable: readonly GrantableRule[]): ReadLine {
  const { name, tenant, space, user, group, namespace, ...pattern } = spec;
  const problem = patternProblem(pattern);
  if (problem !== undefined) return refused(['spec', 'readonly'], problem);
  const rules = rulesOfPattern(pattern, grantable);
  if (rules.length === 0)
    return refused(
      ['spec', 'resource'],
      'expected something that policies may grant: rules of stonegate:manage or of access.grantable',
    );
  // Each stands for every user of the tenant.
  const isEveryone = user === '*' || group === '*';
  const subject = isEveryone
    ? { tenant, user: '*' }
    : { tenant, ...(user !== undefined && { user }), ...(group !== undefined && { group }) };
  return {
    policy: {
      form: 'abac',
      name,
      source: `authorization.abacPolicyFile line ${line}`,
      subjects: [subject],
      tenants: new Set([space]),
      namespaces: namespace === '*' ? 'all' : new Set([namespace]),
      rules,
    },
  };
}

function refused(path: Path, message: string): { readonly findings: readonly Finding[] } {
  return { findings: [{ path, message }] };
}

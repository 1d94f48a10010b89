/**
 * Reads `authorization.abacPolicyFile`: one Policy of `abac.authorization.kubernetes.io/v1beta1` a line, with
 * the fields `name`, `tenant` and `space`. Every field is required: in kube-apiserver's files a missing one,
 * or a `*` beside another condition, stands for everything.
 * https://kubernetes.io/docs/reference/access-authn-authz/abac/#policy-file-format
 */
import { basename } from 'node:path';
import type { TenancyConfiguration } from '../../config/core-configuration.ts';
import { type Finding, formatPath, type Path, type Problem, problemsOfIssue } from '../../config/problem.ts';
import { isEnterable, isOneTenant } from '../../kubernetes/reserved-names.ts';
import { jsonMistake } from '../../lib/json-mistake.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { parseStrictJSON } from '../../lib/strict-json.ts';
import { type GrantableRule, grantableRules, type WrittenRule } from '../../rbac/grantable-rules.ts';
import {
  ABAC_API_VERSION,
  type AbacLine,
  abacLineSchema,
  patternProblem,
  rulesOfPattern,
} from './abac-schema.ts';
import type { AuthorizationConfiguration } from './authorization-configuration.ts';
import type { Policy } from './policy.ts';

/** Bytes of the longest line. */
const MAX_LINE_LENGTH = 4_096;
const MAX_LINES = 10_000;
const JSON_LIMITS = { depth: 4, nodes: 64 };

export interface AbacFile {
  readonly policies: readonly Policy[];
  /** Problems with line numbers; if there are any, the file is not used. */
  readonly problems: readonly Omit<Problem, 'file'>[];
}

export interface AbacFileRules {
  readonly systemTenant: string;
  /** What policies may grant. */
  readonly grantable: readonly GrantableRule[];
}

interface AbacConfiguration {
  readonly authorization: AuthorizationConfiguration;
  readonly access: { readonly grantable: readonly WrittenRule[] };
  readonly tenancy: TenancyConfiguration;
}

/** The policies of the file that the configuration names; none without one. */
export function abacPoliciesOf(
  { authorization, access, tenancy }: AbacConfiguration,
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
  configuration: AbacConfiguration,
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
    if (isSkipped(text)) continue;
    const line = index + 1;
    const refuse: Refuse = (path, message, place) =>
      void problems.push({ path: formatPath(path), message, ...place, line });
    const source = `authorization.abacPolicyFile line ${line}`;
    const spec = specIn(Buffer.from(text, 'latin1'), refuse);
    const policy = spec && policyOf(spec, source, rules, refuse);
    if (policy === undefined) continue;
    const taken = policies.get(policy.name);
    if (taken !== undefined)
      refuse(['spec', 'name'], `expected a name of its own, found the one of ${taken.source}`);
    policies.set(policy.name, taken ?? policy);
  }
  return { policies: problems.length === 0 ? [...policies.values()] : [], problems };
}

/** A blank line or a comment. */
function isSkipped(line: string): boolean {
  return /^[ \t\r]*(?:#|$)/.test(line);
}

type Refuse = (path: Path, message: string, place?: { readonly column: number }) => undefined;

/** @returns undefined for a line that is refused */
function specIn(bytes: Buffer, refuse: Refuse): AbacLine['spec'] | undefined {
  if (bytes.length > MAX_LINE_LENGTH)
    return refuse([], `expected at most ${MAX_LINE_LENGTH} bytes, found ${bytes.length}`);
  let data: unknown;
  try {
    data = parseStrictJSON(bytes, JSON_LIMITS);
  } catch (error) {
    if (error instanceof SyntaxError)
      return refuse([], `expected one JSON object: ${error.message}`, jsonMistake(bytes.toString('utf8')));
    throw error;
  }
  if (isJSONObject(data) && !('apiVersion' in data) && !('kind' in data))
    return refuse(
      [],
      `expected apiVersion ${ABAC_API_VERSION} and kind Policy, found neither: in lines without them a missing field would match everything`,
    );
  const result = abacLineSchema.safeParse(data, { reportInput: true });
  for (const { path, message } of (result.error?.issues ?? []).flatMap(problemsOfIssue))
    refuse(path, message);
  return result.data?.spec;
}

/** @returns undefined for a line that is refused */
function policyOf(
  { name, tenant, space, user, group, namespace, ...pattern }: AbacLine['spec'],
  source: string,
  { systemTenant, grantable }: AbacFileRules,
  refuse: Refuse,
): Policy | undefined {
  if (!isOneTenant(tenant))
    return refuse(['spec', 'tenant'], `expected the name of one tenant, found "${tenant}"`);
  if (!isEnterable(space, systemTenant) || space === tenant)
    return refuse(
      ['spec', 'space'],
      `expected the name of one tenant that users of others may enter, found "${space}"`,
    );
  const problem = patternProblem(pattern);
  if (problem !== undefined) return refuse(['spec', 'readonly'], problem);
  const rules = rulesOfPattern(pattern, grantable);
  if (rules.length === 0)
    return refuse(
      ['spec', 'resource'],
      'expected something that policies may grant: rules of stonegate:manage or of access.grantable',
    );
  // Each stands for every user of the tenant.
  const isEveryone = user === '*' || group === '*';
  const subject = isEveryone
    ? { tenant, user: '*' }
    : { tenant, ...(user !== undefined && { user }), ...(group !== undefined && { group }) };
  return {
    form: 'abac',
    name,
    source,
    subjects: [subject],
    tenants: new Set([space]),
    namespaces: namespace === '*' ? 'all' : new Set([namespace]),
    rules,
  };
}

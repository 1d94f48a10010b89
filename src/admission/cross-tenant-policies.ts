/**
 * A CrossTenantPolicy grants rights in its tenant, so its author must hold each of them, or have the verb
 * `escalate` on the policy: Kubernetes' rule for roles. What cannot be reviewed exactly, such as `*`, is
 * refused.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
import type { AdmissionRequest } from '../api/admission-v1.ts';
import { labelProblem } from '../api/reserved-names.ts';
import { TENANCY_GROUP } from '../api/tenancy-v1alpha1.ts';
import { isEqual } from '../lib/json-equal.ts';
import { ObjectReader } from './object-reader.ts';
import type { ReviewedTenant, Right } from './ports.ts';
import type { RequiredAccess, RequiredRight } from './required-access.ts';
import type { Violation } from './violation.ts';

const CROSS_TENANT_POLICIES = 'crosstenantpolicies';

export interface PolicyJudgement {
  readonly violations: readonly Violation[];
  readonly required: readonly RequiredAccess[];
}

/** Reviews that one policy may need. */
const MAX_RIGHTS = 1_000;
/** Of the spec, labels and annotations as JSON: every replica reads each version of each policy. */
const MAX_SIZE = 64 * 1024;
const RULE_FIELDS: ReadonlySet<string> = new Set(['verbs', 'apiGroups', 'resources', 'resourceNames']);
const VERB = /^[a-zA-Z][a-zA-Z0-9-]*$/;
/** Empty for the core group. */
const API_GROUP = /^[a-z0-9.-]*$/;
const RESOURCE = /^[a-z0-9.-]+(?:\/[a-z0-9.-]+)?$/;
const RULE = 'crossTenantPolicies';
const NOTHING: PolicyJudgement = { violations: [], required: [] };

export function isCrossTenantPolicy({
  group,
  resource,
}: Pick<AdmissionRequest, 'group' | 'resource'>): boolean {
  return group === TENANCY_GROUP && resource === CROSS_TENANT_POLICIES;
}

/** Says why an object of the tenant would grant nothing; undefined if it is valid. */
export type PolicyProblem = (object: unknown, tenant: string) => string | undefined;

/** @param request about a policy */
export function judgePolicy(
  request: AdmissionRequest,
  reviewed: ReviewedTenant,
  problemOf: PolicyProblem,
): PolicyJudgement {
  const { operation, subresource, object, oldObject } = request;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return NOTHING;
  if (reviewed.byTenant && changesStatus(request))
    return { violations: [refusal('status', 'only Stonegate writes it')], required: [] };
  if (subresource === '' && sizeOf(object) > Math.max(MAX_SIZE, sizeOf(oldObject)))
    return {
      violations: [refusal('metadata', `the policy is larger than ${MAX_SIZE} characters`)],
      required: [],
    };
  if (subresource !== '' || (operation === 'UPDATE' && isEqual(specOf(object), specOf(oldObject))))
    return NOTHING;
  if (!reviewed.isTenants)
    return {
      violations: [refusal('metadata.tenant', 'no policy lets users into the system tenant')],
      required: [],
    };
  const violations: Violation[] = [];
  const policy = new ObjectReader(object, '', violations);
  const rights = rightsIn(policy.object('spec'), violations);
  const problem = violations.length > 0 ? undefined : problemOf(object, reviewed.tenant ?? '');
  if (problem !== undefined) violations.push(refusal(pathIn(problem), problem));
  if (violations.length > 0) return { violations, required: [] };
  return { violations, required: [{ sufficient: escalate(policy), rights }] };
}

/** Messages about a field begin with it. */
function pathIn(problem: string): string {
  const [path] = /^(?:spec|metadata)[\w.[\]]*/.exec(problem) ?? ['spec'];
  return path;
}

function changesStatus({ subresource, object, oldObject }: AdmissionRequest): boolean {
  return subresource === 'status' || !isEqual(fieldOf(object, 'status'), fieldOf(oldObject, 'status'));
}

function sizeOf(object: unknown): number {
  const metadata = new ObjectReader(object, '', []).object('metadata');
  const written = [specOf(object), metadata.value('labels'), metadata.value('annotations')];
  return JSON.stringify(written).length;
}

const specOf = (object: unknown): unknown => fieldOf(object, 'spec');
const fieldOf = (object: unknown, name: string): unknown => new ObjectReader(object, '', []).value(name);

function escalate(policy: ObjectReader): Right {
  const name = policy.object('metadata').text('name') ?? '';
  return {
    verb: 'escalate',
    group: TENANCY_GROUP,
    resource: CROSS_TENANT_POLICIES,
    ...(name !== '' && { name }),
  };
}

/** @param violations where faults are added; then the result counts for nothing */
function rightsIn(spec: ObjectReader, violations: Violation[]): RequiredRight[] {
  const namespaces = namespacesOf(spec, violations);
  const rules = spec.objects('rules').map((rule) => grantOf(rule, violations));
  if (rules.length === 0) violations.push(refusal(spec.pathOf('rules'), 'at least one rule is required'));
  const count = rules.reduce((sum, grant) => sum + rightsCount(grant), 0) * namespaces.length;
  if (count > MAX_RIGHTS) {
    const why = `it grants ${count} rights: more than ${MAX_RIGHTS} cannot be reviewed, so use several policies`;
    violations.push(refusal(spec.pathOf('rules'), why));
  }
  if (violations.length > 0) return [];
  return rules.flatMap((grant) => namespaces.flatMap((namespace) => rightsOf(grant, namespace)));
}

/** @returns an empty name for the whole tenant */
function namespacesOf(spec: ObjectReader, violations: Violation[]): string[] {
  const names = [...new Set(spec.texts('namespaces'))];
  const path = spec.pathOf('namespaces');
  if (names.length === 0)
    violations.push(refusal(path, 'at least one namespace is required, or "*" for the whole tenant'));
  if (names.includes('*')) {
    if (names.length > 1) violations.push(refusal(path, '"*" stands alone'));
    return [''];
  }
  for (const [at, name] of names.entries()) {
    const problem = labelProblem(name);
    if (problem !== undefined)
      violations.push(refusal(`${path}[${at}]`, `${JSON.stringify(name)} ${problem}`));
  }
  return names;
}

interface Grant {
  readonly path: string;
  readonly verbs: readonly string[];
  readonly groups: readonly string[];
  readonly resources: readonly string[];
  /** Undefined for every name. */
  readonly names: readonly (string | undefined)[];
}

function grantOf(rule: ObjectReader, violations: Violation[]): Grant {
  for (const field of Object.keys(rule.fields))
    if (!RULE_FIELDS.has(field))
      violations.push(refusal(rule.pathOf(field), 'a policy grants verbs on resources, and nothing else'));
  const listOf = (field: string, form: RegExp): string[] => {
    const values = rule.texts(field);
    if (values.length === 0)
      violations.push(refusal(rule.pathOf(field), 'at least one value must be written'));
    for (const [at, value] of values.entries())
      if (!form.test(value))
        violations.push(refusal(`${rule.pathOf(field)}[${at}]`, `${JSON.stringify(value)} ${WRITE_OUT}`));
    return [...new Set(values)];
  };
  const names = [...new Set(rule.texts('resourceNames'))];
  for (const name of names)
    if (name === '' || name === '*')
      violations.push(refusal(rule.pathOf('resourceNames'), `${JSON.stringify(name)} ${WRITE_OUT}`));
  return {
    path: rule.path,
    verbs: listOf('verbs', VERB),
    groups: listOf('apiGroups', API_GROUP),
    resources: listOf('resources', RESOURCE),
    names: names.length === 0 ? [undefined] : names,
  };
}

const WRITE_OUT = 'is no name: a policy names what it grants, without "*"';

function rightsCount({ verbs, groups, resources, names }: Grant): number {
  return verbs.length * groups.length * resources.length * names.length;
}

function rightsOf({ path, verbs, groups, resources, names }: Grant, namespace: string): RequiredRight[] {
  return groups.flatMap((group) =>
    resources.flatMap((full) =>
      names.flatMap((name) =>
        verbs.map((verb) => {
          const [resource = '', subresource = ''] = full.split('/');
          const right: Right = {
            verb,
            group,
            resource,
            ...(subresource !== '' && { subresource }),
            ...(namespace !== '' && { namespace }),
            ...(name !== undefined && { name }),
          };
          return { right, violation: refusal(path, `${describe(right)}, which the author may not`) };
        }),
      ),
    ),
  );
}

function describe({ verb, group, resource, subresource, namespace, name }: Right): string {
  const kind = `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
  const which = name === undefined ? '' : ` ${JSON.stringify(name)}`;
  const where = namespace === undefined ? 'the whole tenant' : `the namespace "${namespace}"`;
  return `it lets users ${verb} ${kind}${which} in ${where}`;
}

function refusal(path: string, why: string): Violation {
  const message = why.startsWith(path) ? why : `${path}: ${why}`;
  return { rule: RULE, path, value: undefined, message };
}

/**
 * A CrossTenantPolicy grants rights in its tenant, so its author must hold each of them, or have the verb
 * `escalate` on the policy: Kubernetes' rule for roles. What cannot be reviewed exactly, such as `*`, is
 * refused.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { isEqual } from '../../lib/json-equal.ts';
import { TENANCY_GROUP } from '../cross-tenant/tenancy-v1alpha1.ts';
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
/** Bytes of spec, labels and annotations as JSON: every replica reads each version of each policy. */
const MAX_SIZE = 64 * 1024;
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
  const problem = problemOf(object, reviewed.tenant ?? '');
  if (problem !== undefined) return { violations: [refusal(pathIn(problem), problem)], required: [] };
  const policy = new ObjectReader(object, '', []);
  const { count, rights } = rightsIn(policy.object('spec'));
  if (count <= MAX_RIGHTS)
    return { violations: [], required: [{ sufficient: escalate(policy), rights: rights() }] };
  const why = `it grants ${count} rights: more than ${MAX_RIGHTS} cannot be reviewed, so use several policies`;
  return { violations: [refusal('spec.rules', why)], required: [] };
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

interface Grant {
  readonly path: string;
  readonly verbs: readonly string[];
  readonly groups: readonly string[];
  readonly resources: readonly string[];
  /** Undefined for every name. */
  readonly names: readonly (string | undefined)[];
}

/** @param spec that is valid; its rights are many, so they are counted before they are made */
function rightsIn(spec: ObjectReader): { readonly count: number; readonly rights: () => RequiredRight[] } {
  const named = [...new Set(spec.texts('namespaces'))];
  // Empty for the whole tenant.
  const namespaces = named.includes('*') ? [''] : named;
  const grants = spec.objects('rules').map(grantOf);
  return {
    count: grants.reduce((sum, grant) => sum + rightsCount(grant), 0) * namespaces.length,
    rights: () => grants.flatMap((grant) => namespaces.flatMap((namespace) => rightsOf(grant, namespace))),
  };
}

function grantOf(rule: ObjectReader): Grant {
  const listOf = (field: string) => [...new Set(rule.texts(field))];
  const names = listOf('resourceNames');
  return {
    path: rule.path,
    verbs: listOf('verbs'),
    groups: listOf('apiGroups'),
    resources: listOf('resources'),
    names: names.length === 0 ? [undefined] : names,
  };
}

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

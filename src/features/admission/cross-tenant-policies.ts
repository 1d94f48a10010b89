/**
 * A CrossTenantPolicy grants rights in its tenant, so its author must hold each of them, or have the verb
 * `escalate` on the policy: Kubernetes' rule for roles. What cannot be reviewed exactly, such as `*`, is
 * refused.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { isEqual } from '../../lib/json-equal.ts';
import type { TenantAdmission } from '../../tenancy/admission-tenants.ts';
import { CROSS_TENANT_POLICIES } from '../cross-tenant/tenancy-v1alpha1.ts';
import { type ObjectReader, readerOf } from './object-reader.ts';
import { type Judgement, NO_OBJECTION, type RequiredRight, type Right } from './required-rights.ts';
import type { Violation } from './violation.ts';

const { group, resource } = CROSS_TENANT_POLICIES;
const KIND = { group, resource };
/** Reviews that one policy may need. */
const MAX_RIGHTS = 1_000;
/** Bytes of spec, labels and annotations as JSON: every replica reads each version of each policy. */
const MAX_SIZE = 64 * 1024;

export function isCrossTenantPolicy({ group, resource }: AdmissionRequest): boolean {
  return group === KIND.group && resource === KIND.resource;
}

/** Says why an object of the tenant would grant nothing; undefined if it is valid. */
export type PolicyProblem = (object: unknown, tenant: string) => string | undefined;

/** @param request about a policy */
export function judgePolicy(
  request: AdmissionRequest,
  { byTenant, isTenants, tenant = '' }: ReturnType<TenantAdmission['reviewedTenant']>,
  problemOf: PolicyProblem,
): Judgement {
  const { operation, subresource, object, oldObject } = request;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return NO_OBJECTION;
  const [policy, old] = [readerOf(object), readerOf(oldObject)];
  const isSame = (field: string) => isEqual(policy.value(field), old.value(field));
  if (byTenant && (subresource === 'status' || !isSame('status')))
    return refused('status: only Stonegate writes it');
  if (subresource !== '') return NO_OBJECTION;
  if (sizeOf(policy) > Math.max(MAX_SIZE, sizeOf(old)))
    return refused(`metadata: the policy is larger than ${MAX_SIZE} characters`);
  if (operation === 'UPDATE' && isSame('spec')) return NO_OBJECTION;
  if (!isTenants) return refused('metadata.tenant: no policy lets users into the system tenant');
  const problem = problemOf(object, tenant);
  if (problem !== undefined) return refused(problem);
  const spec = policy.object('spec');
  const count = countRights(spec);
  if (count > MAX_RIGHTS) {
    const why = `it grants ${count} rights: more than ${MAX_RIGHTS} cannot be reviewed, so use several policies`;
    return refused(`spec.rules: ${why}`);
  }
  const name = policy.object('metadata').text('name') ?? '';
  const sufficient = { verb: 'escalate', ...KIND, ...(name !== '' && { name }) };
  return { violations: [], required: [{ sufficient, rights: rightsIn(spec) }] };
}

function sizeOf(policy: ObjectReader): number {
  const metadata = policy.object('metadata');
  const written = [policy.value('spec'), metadata.value('labels'), metadata.value('annotations')];
  return JSON.stringify(written).length;
}

/** The namespaces that a valid spec names; one undefined for the whole tenant. */
function namespacesIn(spec: ObjectReader): readonly (string | undefined)[] {
  const named = new Set(spec.texts('namespaces'));
  return named.has('*') ? [undefined] : [...named];
}

/** The four lists of a rule without repetition; one undefined name stands for every object. */
function listsOf(rule: ObjectReader) {
  const [groups = [], resources = [], names = [], verbs = []] = [
    'apiGroups',
    'resources',
    'resourceNames',
    'verbs',
  ].map((field) => [...new Set(rule.texts(field))]);
  return { groups, resources, names: names.length === 0 ? [undefined] : names, verbs };
}

/** Counts the rights of a valid spec before they are made: they may be very many. */
function countRights(spec: ObjectReader): number {
  const ofRule = (rule: ObjectReader) =>
    Object.values(listsOf(rule)).reduce((product, { length }) => product * length, 1);
  return namespacesIn(spec).length * spec.objects('rules').reduce((sum, rule) => sum + ofRule(rule), 0);
}

function rightsIn(spec: ObjectReader): RequiredRight[] {
  return spec.objects('rules').flatMap((rule) => {
    const { groups, resources, names, verbs } = listsOf(rule);
    return namespacesIn(spec).flatMap((namespace) =>
      groups.flatMap((group) =>
        resources.flatMap((full) =>
          names.flatMap((name) =>
            verbs.map((verb) => {
              const [resource = '', subresource] = full.split('/');
              const right = { verb, group, resource, ...given({ subresource, namespace, name }) };
              const why = `${rule.path}: ${describe(right)}, which the author may not`;
              return { right, violation: refusal(why) };
            }),
          ),
        ),
      ),
    );
  });
}

/** The fields that are not undefined. */
function given(fields: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

function describe({ verb, group, resource, subresource, namespace, name }: Right): string {
  const kind = `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
  const which = name === undefined ? '' : ` ${JSON.stringify(name)}`;
  const where = namespace === undefined ? 'the whole tenant' : `the namespace "${namespace}"`;
  return `it lets users ${verb} ${kind}${which} in ${where}`;
}

function refused(message: string): Judgement {
  return { violations: [refusal(message)], required: [] };
}

/** @param message begins with the field that it is about */
function refusal(message: string): Violation {
  const [path] = /^(?:spec|metadata|status)[\w.[\]]*/.exec(message) ?? ['spec'];
  return { rule: 'crossTenantPolicies', path, value: undefined, message };
}

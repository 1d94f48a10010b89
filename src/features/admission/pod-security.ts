/**
 * The Pod Security Standards: which one holds for a tenant, and which fields of a pod violate it, with the
 * verdicts of the API server's PodSecurity admission. The version is not newer than the API server: a newer
 * one allows what depends on fields that an older server does not know, and so ignores.
 * https://kubernetes.io/docs/concepts/security/pod-security-admission/
 */
import { NEWEST_POD_SECURITY_MINOR } from '../../kubernetes/admission-v1.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import type { AdmissionConfiguration, PodSecurityConfiguration } from './admission-configuration.ts';
import { ObjectReader } from './object-reader.ts';
import type { PodPart } from './pod-part.ts';
import { BASELINE, type Check, RESTRICTED } from './pod-security-checks.ts';
import { type Violation, violation } from './violation.ts';

/** The standard of a tenant. With the mode `warn` an object that violates it is stored. */
export type PodSecurityRule = Required<PodSecurityConfiguration>;
export type PodSecurityLevel = PodSecurityRule['level'];

/** The first version with PodSecurity admission of its own, so that no level means no rule. */
const POD_SECURITY_MINOR = 23;

/**
 * @returns the rule of a tenant. For an unknown one (a service account in shared mode) the strictest that is
 * enforced holds, since a user could otherwise leave a tenant's rule by one; if none is enforced, the
 * strictest that warns
 */
export function podSecurityRuleOf(
  { tenants, ...given }: AdmissionConfiguration['podSecurity'],
  { kubernetesMinor: minor = NEWEST_POD_SECURITY_MINOR }: TenancyFacts,
): (tenant: string | undefined) => PodSecurityRule {
  const general: PodSecurityRule = {
    level: minor < POD_SECURITY_MINOR ? 'baseline' : 'privileged',
    version: `v1.${minor}`,
    mode: 'enforce',
    ...given,
  };
  const exceptions = new Map(
    Object.entries(tenants).map(([tenant, changes]) => [tenant, { ...general, ...changes }]),
  );
  const byStrictness = [general, ...exceptions.values()].sort(
    (one, other) =>
      MODES.indexOf(one.mode) - MODES.indexOf(other.mode) ||
      LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level),
  );
  const ofUnknown = byStrictness.find(({ level }) => level !== 'privileged') ?? general;
  return (tenant) => (tenant === undefined ? ofUnknown : (exceptions.get(tenant) ?? general));
}

/** The strictest first: within one version a level refuses what a lower one does. */
const MODES: readonly PodSecurityRule['mode'][] = ['enforce', 'warn'];
const LEVELS: readonly PodSecurityLevel[] = ['restricted', 'baseline', 'privileged'];

/** @returns every field that violates the rule; and those of a wrong type, which no check can judge */
export function podSecurityViolations(
  { metadata, metadataPath, spec, specPath }: PodPart,
  { level, version, mode }: PodSecurityRule,
): Violation[] {
  if (level === 'privileged') return [];
  const faults: Violation[] = [];
  const reader = new ObjectReader(spec, specPath, faults);
  const pod = {
    metadata: new ObjectReader(metadata, metadataPath, faults),
    spec: reader,
    containers: ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) =>
      reader.objects(field),
    ),
  };
  const violates = `${mode === 'warn' ? 'would violate' : 'violates'} PodSecurity "${level}:${version}"`;
  const violations = checksOf(level, Number(version.slice('v1.'.length))).flatMap(({ id, reason, find }) =>
    find(pod).map(({ path, value }) => violation(id, path, value, `${violates}: ${reason}`)),
  );
  return [...faults, ...violations];
}

/** The checks that apply to a version, with how each finds violations in it. */
function checksOf(level: PodSecurityLevel, minor: number) {
  const checks: readonly Check[] = level === 'restricted' ? RESTRICTED : BASELINE;
  const applicable = checks.flatMap(({ versions, ...check }) => {
    const found = versions.findLast(([since]) => since <= minor);
    return found === undefined ? [] : [{ ...check, find: found[1] }];
  });
  const overridden = new Set(applicable.map(({ overrides }) => overrides));
  return applicable.filter(({ id }) => !overridden.has(id));
}

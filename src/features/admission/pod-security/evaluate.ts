/**
 * The Pod Security Standards as the API server's PodSecurity admission evaluates them, in a named version,
 * with its wording, and with the path of each field that violates them.
 * https://kubernetes.io/docs/concepts/security/pod-security-admission/
 */
import { NEWEST_POD_SECURITY_MINOR } from '../../../kubernetes/admission-v1.ts';
import { MALFORMED, ObjectReader } from '../object-reader.ts';
import type { PodPart } from '../pod-part.ts';
import type { Violation } from '../violation.ts';
import {
  capabilitiesBaseline,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbesAndHostLifecycle,
  privileged,
  procMount,
  sysctls,
  windowsHostProcess,
} from './baseline-checks.ts';
import type { Check, Finding, Pod, PodSecurityLevel } from './check.ts';
import {
  appArmorProfile,
  seccompProfileBaseline,
  seccompProfileRestricted,
  seLinuxOptions,
} from './profile-checks.ts';
import {
  allowPrivilegeEscalation,
  capabilitiesRestricted,
  procMountRestricted,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
} from './restricted-checks.ts';

/**
 * Not newer than the API server: a newer version allows what depends on fields that an older server does not
 * know, and so ignores (`spec.os`, `spec.hostUsers`).
 */
export interface PodSecurityVersion {
  /** `v1.36` or `latest`. */
  readonly name: string;
  readonly minor: number;
}

export interface PodSecurityPolicy {
  readonly level: PodSecurityLevel;
  readonly version: PodSecurityVersion;
}

export interface PodSecurityViolation extends Violation {
  readonly finding: Finding;
}

const VERSION = /^v1\.(0|[1-9][0-9]?)$/;

/** @returns undefined for what is no version of the standards, or one that is not known yet */
export function podSecurityVersion(name: string): PodSecurityVersion | undefined {
  if (name === 'latest') return { name, minor: NEWEST_POD_SECURITY_MINOR };
  const [, minor] = VERSION.exec(name) ?? [];
  return minor === undefined || Number(minor) > NEWEST_POD_SECURITY_MINOR
    ? undefined
    : { name, minor: Number(minor) };
}

/** The checks of the baseline, by id. */
const BASELINE: readonly Check[] = [
  appArmorProfile,
  capabilitiesBaseline,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbesAndHostLifecycle,
  privileged,
  procMount,
  seLinuxOptions,
  seccompProfileBaseline,
  sysctls,
  windowsHostProcess,
];

/** All checks in the order of messages: those of the baseline, then by id. */
const CHECKS: readonly Check[] = [
  ...BASELINE,
  allowPrivilegeEscalation,
  capabilitiesRestricted,
  procMountRestricted,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompProfileRestricted,
];

/** The checks of a policy with what each finds. */
function findingsOf(pod: Pod, { level, version }: PodSecurityPolicy): [Check, Finding[]][] {
  const applicable = (level === 'restricted' ? CHECKS : BASELINE).flatMap((check) => {
    const found = check.versions.findLast(([since]) => since <= version.minor);
    return found === undefined ? [] : [{ check, find: found[1] }];
  });
  const overridden = new Set(applicable.map(({ check }) => check.overrides));
  return applicable
    .filter(({ check }) => !overridden.has(check.id))
    .map(({ check, find }) => [check, find(pod)]);
}

/** Every field that violates the policy; and those of a wrong type, which no check can judge. */
export function podSecurityViolations(part: PodPart, policy: PodSecurityPolicy): PodSecurityViolation[] {
  if (policy.level === 'privileged') return [];
  const faults: Violation[] = [];
  const spec = new ObjectReader(part.spec, part.specPath, faults);
  const pod = {
    metadata: new ObjectReader(part.metadata, part.metadataPath, faults),
    spec,
    containers: ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) =>
      spec.objects(field),
    ),
  };
  const violations = findingsOf(pod, policy).flatMap(([{ id }, findings]) =>
    findings.map((finding) => {
      const { path, value } = finding;
      const message = `${path}: refused by the check ${id} of the Pod Security Standards`;
      return { rule: id, path, value, message, finding };
    }),
  );
  // Several checks read the same field.
  const distinct = new Map(faults.map((fault) => [fault.path, fault]));
  return [
    ...Array.from(distinct.values(), (fault) => {
      const { path, value, message } = fault;
      return { ...fault, finding: { path, value, shown: message } };
    }),
    ...violations,
  ];
}

/** The violations in the words of the API server: `host namespaces (hostNetwork=true), privileged (…)`. */
export function podSecurityMessage(violations: readonly PodSecurityViolation[]): string {
  const byRule = Map.groupBy(violations, ({ rule }) => rule);
  return Array.from(byRule, ([rule, group]) => {
    const findings = group.map(({ finding }) => finding);
    const { reason, detail } = CHECKS.find(({ id }) => id === rule) ?? FAULTS;
    return `${typeof reason === 'string' ? reason : reason(findings)} (${detail(findings)})`;
  }).join(', ');
}

const FAULTS: Pick<Check, 'reason' | 'detail'> = {
  reason: MALFORMED,
  detail: (findings) => findings.map(({ shown }) => shown).join(', '),
};

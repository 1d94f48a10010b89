/**
 * The Pod Security Standards as the API server's PodSecurity admission evaluates them, in a named version,
 * with its wording, and with the path of each field that violates them.
 * https://kubernetes.io/docs/concepts/security/pod-security-admission/
 */
import { NEWEST_POD_SECURITY_MINOR } from '../../api/admission-v1.ts';
import { MALFORMED } from '../object-reader.ts';
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
import type { Check, Find, Finding, PodSecurityLevel } from './check.ts';
import { type Pod, readPod } from './pod.ts';
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

export interface PodSecurityResult {
  readonly allowed: boolean;
  /** One of each check that forbids the pod. */
  readonly forbiddenReasons: readonly string[];
  /** One of each reason. */
  readonly forbiddenDetails: readonly string[];
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

/** In the order of messages: by level, then by id. */
const CHECKS: readonly Check[] = [
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
  allowPrivilegeEscalation,
  capabilitiesRestricted,
  procMountRestricted,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompProfileRestricted,
];

/** @returns undefined if the check is not in that version */
function findOf({ versions }: Check, minor: number): Find | undefined {
  return versions.findLast(({ since }) => since <= minor)?.find;
}

/** The checks of a policy with what each finds. */
function* findingsOf(pod: Pod, { level, version }: PodSecurityPolicy): Generator<[Check, Finding[]]> {
  const applicable = CHECKS.filter((check) => level === 'restricted' || check.level === level).map(
    (check) => ({ check, find: findOf(check, version.minor) }),
  );
  const overridden = new Set(applicable.map(({ check, find }) => find && check.overrides));
  for (const { check, find } of applicable)
    if (find !== undefined && !overridden.has(check.id)) yield [check, find(pod)];
}

/** Every field that violates the policy. */
export function podSecurityViolations(part: PodPart, policy: PodSecurityPolicy): PodSecurityViolation[] {
  if (policy.level === 'privileged') return [];
  const faults: Violation[] = [];
  const pod = readPod(part, faults);
  const violations = faults.map((fault) => ({
    ...fault,
    finding: { path: fault.path, value: fault.value, shown: fault.message },
  }));
  for (const [check, findings] of findingsOf(pod, policy))
    for (const finding of findings) {
      const { path, value } = finding;
      const message = `${path}: refused by the check ${check.id} of the Pod Security Standards`;
      violations.push({ rule: check.id, path, value, message, finding });
    }
  return violations;
}

/** What the violations, or some of them, amount to, in the words of the API server. */
export function podSecurityResult(violations: readonly PodSecurityViolation[]): PodSecurityResult {
  const findings = Map.groupBy(violations, ({ rule }) => rule);
  const wordings = [...findings].map(([rule, group]) => {
    const found = group.map(({ finding }) => finding);
    const check = CHECKS.find(({ id }) => id === rule);
    return check?.describe(found) ?? describeFaults(found);
  });
  return {
    allowed: violations.length === 0,
    forbiddenReasons: wordings.map(({ reason }) => reason),
    forbiddenDetails: wordings.map(({ detail }) => detail),
  };
}

/** `host namespaces (hostNetwork=true), privileged (…)`. */
export function podSecurityMessage({ forbiddenReasons, forbiddenDetails }: PodSecurityResult): string {
  return forbiddenReasons.map((reason, at) => `${reason} (${forbiddenDetails[at] ?? ''})`).join(', ');
}

/** Fields of a wrong type, which no check can judge. */
function describeFaults(findings: readonly Finding[]) {
  return { reason: MALFORMED, detail: findings.map(({ shown }) => shown).join(', ') };
}

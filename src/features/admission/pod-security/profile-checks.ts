/**
 * Checks of AppArmor, seccomp and SELinux settings, which both standards have.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/;
 * https://github.com/kubernetes/pod-security-admission/tree/v0.36.3/policy
 */
import { goQuoted } from '../../../lib/go-quoted.ts';
import { keyPath } from '../violation.ts';
import {
  type Check,
  containers,
  exceptWindows,
  type Find,
  type Finding,
  findIf,
  inContainerContexts,
  inContexts,
  ofKind,
  type Pod,
  plural,
  quoted,
  setters,
  shown,
} from './check.ts';

const PROFILE_TYPES: ReadonlySet<string> = new Set(['RuntimeDefault', 'Localhost']);

/** Profiles of a type that no standard allows. */
function forbiddenProfiles(field: 'seccompProfile' | 'appArmorProfile'): Find {
  return inContexts((context) => {
    const profile = context.object(field);
    const type = profile.text('type') ?? '';
    return findIf(context.has(field) && !PROFILE_TYPES.has(type), profile, 'type', type);
  });
}

function forbiddenAnnotations(
  { metadata }: Pod,
  isForbidden: (key: string, value: string) => boolean,
): Finding[] {
  return [...metadata.textMap('annotations')]
    .filter(([key, value]) => isForbidden(key, value))
    .map(([key, value]) => ({
      path: keyPath(metadata.pathOf('annotations'), key),
      value,
      shown: `${key}=${goQuoted(value)}`,
      kind: 'annotation',
    }));
}

const APP_ARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const APP_ARMOR_ALLOWED = /^(?:$|runtime\/default$|localhost\/)/;

const appArmorAnnotations: Find = (pod) =>
  forbiddenAnnotations(
    pod,
    (key, value) => key.startsWith(APP_ARMOR_PREFIX) && !APP_ARMOR_ALLOWED.test(value),
  );

/** The values in fields before those in annotations. */
function appArmorValues(findings: readonly Finding[]): string[] {
  return [...shown(ofKind(findings, undefined)), ...shown(ofKind(findings, 'annotation'))];
}

export const appArmorProfile: Check = {
  id: 'appArmorProfile',
  versions: [[0, (pod) => [...forbiddenProfiles('appArmorProfile')(pod), ...appArmorAnnotations(pod)]]],
  reason: (findings) => plural(appArmorValues(findings).length, 'forbidden AppArmor profile'),
  detail(findings) {
    const annotations = ofKind(findings, 'annotation');
    const fields = ofKind(findings, undefined);
    const who = [
      ...(fields.length > 0 ? [setters(fields)] : []),
      ...(annotations.length > 0 ? [plural(annotations.length, 'annotation')] : []),
    ].join(' and ');
    return `${who} must not set AppArmor profile type to ${quoted(appArmorValues(findings))}`;
  },
};

const SECCOMP_OF_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/';
const SECCOMP_ALLOWED = /^(?:runtime\/default$|docker\/default$|localhost\/)/;

/** The annotations of the pod and of its containers; one of another container is of no effect. */
const seccompAnnotations: Find = (pod) => {
  const ofContainers = pod.containers.map((container) => `${SECCOMP_PREFIX}${container.text('name') ?? ''}`);
  const keys = new Set([SECCOMP_OF_POD, ...ofContainers]);
  return forbiddenAnnotations(pod, (key, value) => keys.has(key) && !SECCOMP_ALLOWED.test(value));
};

const forbiddenSeccomp = forbiddenProfiles('seccompProfile');

export const seccompProfileBaseline: Check = {
  id: 'seccompProfile_baseline',
  versions: [
    [0, seccompAnnotations],
    [19, forbiddenSeccomp],
  ],
  reason: 'seccompProfile',
  detail(findings) {
    const annotations = shown(ofKind(findings, 'annotation'));
    if (annotations.length === 0) return seccompTypes(findings);
    return `forbidden ${plural(annotations.length, 'annotation')} ${annotations.join(', ')}`;
  },
};

function seccompTypes(findings: readonly Finding[]): string {
  return `${setters(findings)} must not set securityContext.seccompProfile.type to ${quoted(shown(findings))}`;
}

/** Containers without a profile of their own whose pod has no allowed one. */
const missingSeccompProfiles: Find = (pod) => {
  const ofPod = pod.spec.object('securityContext').object('seccompProfile').text('type');
  if (ofPod !== undefined && PROFILE_TYPES.has(ofPod)) return [];
  const find = inContainerContexts((context) =>
    findIf(!context.has('seccompProfile'), context, 'seccompProfile.type', undefined, 'missing'),
  );
  return find(pod);
};

const restrictedSeccomp: Find = (pod) => [...forbiddenSeccomp(pod), ...missingSeccompProfiles(pod)];

export const seccompProfileRestricted: Check = {
  id: 'seccompProfile_restricted',
  overrides: 'seccompProfile_baseline',
  versions: [
    [19, restrictedSeccomp],
    [25, exceptWindows(restrictedSeccomp)],
  ],
  reason: 'seccompProfile',
  detail(findings) {
    const forbidden = ofKind(findings, undefined);
    if (forbidden.length > 0) return seccompTypes(forbidden);
    return `pod or ${containers(findings)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`;
  },
};

const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t'];

export const seLinuxOptions: Check = {
  id: 'seLinuxOptions',
  versions: [
    [0, seLinuxExcept(SELINUX_TYPES)],
    [31, seLinuxExcept([...SELINUX_TYPES, 'container_engine_t'])],
  ],
  reason: 'seLinuxOptions',
  detail(findings) {
    const types = shown(ofKind(findings, 'type'));
    const data = [
      ...(types.length > 0 ? [`${plural(types.length, 'type')} ${quoted(types)}`] : []),
      ...['user', 'role']
        .filter((option) => ofKind(findings, option).length > 0)
        .map((option) => `${option} may not be set`),
    ].join('; ');
    return `${setters(findings)} set forbidden securityContext.seLinuxOptions: ${data}`;
  },
};

function seLinuxExcept(types: readonly string[]): Find {
  return inContexts((context) => {
    const options = context.object('seLinuxOptions');
    return ['type', 'user', 'role'].flatMap((option) => {
      const value = options.text(option) ?? '';
      const allowed = option === 'type' ? types : [''];
      return findIf(!allowed.includes(value), options, option, value, option);
    });
  });
}

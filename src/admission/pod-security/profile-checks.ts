/**
 * Checks of AppArmor, seccomp and SELinux settings, which both standards have.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/;
 * https://github.com/kubernetes/pod-security-admission/tree/v0.36.3/policy
 */
import { goQuoted } from '../../lib/go-quoted.ts';
import { keyPath } from '../violation.ts';
import {
  type Check,
  containers,
  exceptWindows,
  type Find,
  type Finding,
  findIf,
  inContainers,
  plural,
  quoted,
  setters,
  shown,
  sorted,
  type Wording,
} from './check.ts';
import type { Pod, SecurityContext } from './pod.ts';

interface HasSecurityContext {
  readonly securityContext: SecurityContext;
}

/** In the pod's security context and in those of its containers. */
function everywhere(find: (holder: HasSecurityContext) => Finding[]): Find {
  return (pod) => [...find(pod), ...inContainers(find)(pod)];
}

const PROFILE_TYPES: ReadonlySet<string> = new Set(['RuntimeDefault', 'Localhost']);

/** Profiles of a type that no standard allows. */
function forbiddenProfiles(field: 'seccompProfile' | 'appArmorProfile'): Find {
  return everywhere(({ securityContext }) => {
    const type = securityContext[field];
    if (type === undefined || PROFILE_TYPES.has(type)) return [];
    return [{ path: `${securityContext.path}.${field}.type`, value: type, shown: type }];
  });
}

/** @param isForbidden of each annotation */
function forbiddenAnnotations(
  { annotations, annotationsPath }: Pod,
  isForbidden: (key: string, value: string) => boolean,
): Finding[] {
  return [...annotations]
    .filter(([key, value]) => isForbidden(key, value))
    .map(([key, value]) => ({
      path: keyPath(annotationsPath, key),
      value,
      shown: `${key}=${goQuoted(value)}`,
      kind: 'annotation',
    }));
}

const APP_ARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';

export const appArmorProfile: Check = {
  id: 'appArmorProfile',
  level: 'baseline',
  versions: [
    {
      since: 0,
      find: (pod) => [
        ...forbiddenProfiles('appArmorProfile')(pod),
        ...forbiddenAnnotations(
          pod,
          (key, value) =>
            key.startsWith(APP_ARMOR_PREFIX) &&
            value !== '' &&
            value !== 'runtime/default' &&
            !value.startsWith('localhost/'),
        ),
      ],
    },
  ],
  describe(findings) {
    const annotations = findings.filter(({ kind }) => kind === 'annotation');
    const fields = findings.filter(({ kind }) => kind !== 'annotation');
    const values = [...shown(fields), ...shown(annotations)];
    const who = [
      ...(fields.length > 0 ? [setters(fields)] : []),
      ...(annotations.length > 0 ? [plural(annotations.length, 'annotation')] : []),
    ].join(' and ');
    return {
      reason: plural(values.length, 'forbidden AppArmor profile'),
      detail: `${who} must not set AppArmor profile type to ${quoted(values)}`,
    };
  },
};

const SECCOMP_OF_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/';
const SECCOMP_ANNOTATIONS: ReadonlySet<string> = new Set(['runtime/default', 'docker/default']);

/** The annotations of the pod and of its containers; one of another container is of no effect. */
function seccompAnnotations(pod: Pod): Finding[] {
  const keys = new Set([SECCOMP_OF_POD, ...pod.containers.map(({ name }) => `${SECCOMP_PREFIX}${name}`)]);
  return forbiddenAnnotations(
    pod,
    (key, value) => keys.has(key) && !SECCOMP_ANNOTATIONS.has(value) && !value.startsWith('localhost/'),
  );
}

export const seccompProfileBaseline: Check = {
  id: 'seccompProfile_baseline',
  level: 'baseline',
  versions: [
    { since: 0, find: seccompAnnotations },
    { since: 19, find: forbiddenProfiles('seccompProfile') },
  ],
  describe(findings) {
    if (findings.every(({ kind }) => kind !== 'annotation')) return seccompTypes(findings);
    const annotations = shown(findings);
    return {
      reason: 'seccompProfile',
      detail: `forbidden ${plural(annotations.length, 'annotation')} ${annotations.join(', ')}`,
    };
  },
};

function seccompTypes(findings: readonly Finding[]): Wording {
  return {
    reason: 'seccompProfile',
    detail: `${setters(findings)} must not set securityContext.seccompProfile.type to ${quoted(shown(findings))}`,
  };
}

/** Containers without a profile of their own whose pod has no allowed one. */
function missingSeccompProfiles(pod: Pod): Finding[] {
  const ofPod = pod.securityContext.seccompProfile;
  if (ofPod !== undefined && PROFILE_TYPES.has(ofPod)) return [];
  const find = inContainers(({ securityContext: { path, seccompProfile } }) =>
    findIf(seccompProfile === undefined, {
      path: `${path}.seccompProfile.type`,
      value: undefined,
      shown: '',
      kind: 'missing',
    }),
  );
  return find(pod);
}

const restrictedSeccomp: Find = (pod) => [
  ...forbiddenProfiles('seccompProfile')(pod),
  ...missingSeccompProfiles(pod),
];

export const seccompProfileRestricted: Check = {
  id: 'seccompProfile_restricted',
  level: 'restricted',
  overrides: 'seccompProfile_baseline',
  versions: [
    { since: 19, find: restrictedSeccomp },
    { since: 25, find: exceptWindows(restrictedSeccomp) },
  ],
  describe(findings) {
    const forbidden = findings.filter(({ kind }) => kind !== 'missing');
    if (forbidden.length > 0) return seccompTypes(forbidden);
    return {
      reason: 'seccompProfile',
      detail: `pod or ${containers(findings)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
    };
  },
};

const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t'];

export const seLinuxOptions: Check = {
  id: 'seLinuxOptions',
  level: 'baseline',
  versions: [
    { since: 0, find: seLinuxExcept(SELINUX_TYPES) },
    { since: 31, find: seLinuxExcept([...SELINUX_TYPES, 'container_engine_t']) },
  ],
  describe(findings) {
    const types = sorted(findings.filter(({ kind }) => kind === 'type').map(({ shown }) => shown));
    const data = [
      ...(types.length > 0 ? [`${plural(types.length, 'type')} ${quoted(types)}`] : []),
      ...(['user', 'role'] as const)
        .filter((option) => findings.some(({ kind }) => kind === option))
        .map((option) => `${option} may not be set`),
    ].join('; ');
    return {
      reason: 'seLinuxOptions',
      detail: `${setters(findings)} set forbidden securityContext.seLinuxOptions: ${data}`,
    };
  },
};

function seLinuxExcept(types: readonly string[]): Find {
  return everywhere(({ securityContext: { path, seLinuxOptions } }) =>
    (['type', 'user', 'role'] as const).flatMap((option) => {
      const value = seLinuxOptions[option];
      const isAllowed = option === 'type' ? types.includes(value) : value === '';
      return findIf(!isAllowed, {
        path: `${path}.seLinuxOptions.${option}`,
        value,
        shown: value,
        kind: option,
      });
    }),
  );
}

/**
 * The fields of a pod in which the checks of the Pod Security Standards find violations. Other versions of
 * Kubernetes may read the fields otherwise.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/;
 * https://github.com/kubernetes/pod-security-admission/tree/v0.36.3/policy
 */
import type { ObjectReader } from './object-reader.ts';
import { keyPath } from './violation.ts';

export interface Pod {
  readonly metadata: ObjectReader;
  readonly spec: ObjectReader;
  /** Init containers, containers and ephemeral containers. */
  readonly containers: readonly ObjectReader[];
}

/** A field that a check forbids or misses; its value is undefined if it is missing. */
export interface Finding {
  readonly path: string;
  readonly value: unknown;
}

export type Find = (pod: Pod) => Finding[];
/** Finds violations in a container or in a security context. */
type FindIn = (object: ObjectReader) => Finding[];

/** @returns a finding at a field of the object if the condition holds */
export function findIf(condition: boolean, object: ObjectReader, field: string, value?: unknown): Finding[] {
  return condition ? [{ path: object.pathOf(field), value: value ?? object.value(field) }] : [];
}

export function inContainers(find: FindIn): Find {
  return ({ containers }) => containers.flatMap(find);
}

/** Checks the security contexts of the containers; an absent one is read as an empty one. */
export function inContainerContexts(find: FindIn): Find {
  return inContainers((container) => find(container.object('securityContext')));
}

/** Checks the security context of the pod and those of its containers. */
export function inContexts(find: FindIn): Find {
  return (pod) => [...find(pod.spec.object('securityContext')), ...inContainerContexts(find)(pod)];
}

/** Windows has other settings, and the API server refuses Linux' ones in its pods. */
export function exceptWindows(find: Find): Find {
  return (pod) => (pod.spec.object('os').text('name') === 'windows' ? [] : find(pod));
}

/** Root in a user namespace of the pod's own is not root on the node. */
export function exceptInUserNamespace(find: Find): Find {
  return (pod) => (pod.spec.boolean('hostUsers') === false ? [] : find(pod));
}

const PROFILE_TYPES: readonly string[] = ['RuntimeDefault', 'Localhost'];

/** Profiles of a type that no standard allows. */
export function forbiddenProfiles(field: 'seccompProfile' | 'appArmorProfile'): Find {
  return inContexts((context) => {
    const profile = context.object(field);
    const isAllowed = PROFILE_TYPES.includes(profile.text('type') ?? '');
    return findIf(context.has(field) && !isAllowed, profile, 'type');
  });
}

function annotationsIn({ metadata }: Pod, isForbidden: (key: string, value: string) => boolean): Finding[] {
  return [...metadata.textMap('annotations')]
    .filter(([key, value]) => isForbidden(key, value))
    .map(([key, value]) => ({ path: keyPath(metadata.pathOf('annotations'), key), value }));
}

const APP_ARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const APP_ARMOR_ALLOWED = /^(?:$|runtime\/default$|localhost\/)/;
export const appArmorAnnotations: Find = (pod) =>
  annotationsIn(pod, (key, value) => key.startsWith(APP_ARMOR_PREFIX) && !APP_ARMOR_ALLOWED.test(value));

const SECCOMP_OF_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/';
const SECCOMP_ALLOWED = /^(?:runtime\/default$|docker\/default$|localhost\/)/;
/** The annotations of the pod and of its containers; one of another container is of no effect. */
export const seccompAnnotations: Find = (pod) => {
  const ofContainers = pod.containers.map((container) => `${SECCOMP_PREFIX}${container.text('name') ?? ''}`);
  const keys = new Set([SECCOMP_OF_POD, ...ofContainers]);
  return annotationsIn(pod, (key, value) => keys.has(key) && !SECCOMP_ALLOWED.test(value));
};

export const forbiddenSeccomp = forbiddenProfiles('seccompProfile');
export const restrictedSeccomp: Find = (pod) => {
  const ofPod = pod.spec.object('securityContext').object('seccompProfile').text('type') ?? '';
  // Containers without a profile of their own have the pod's.
  const missing = inContainerContexts((context) =>
    findIf(!context.has('seccompProfile'), context, 'seccompProfile.type'),
  );
  return [...forbiddenSeccomp(pod), ...(PROFILE_TYPES.includes(ofPod) ? [] : missing(pod))];
};

export function addedCapabilities(allowed: readonly string[]): Find {
  return inContainerContexts((context) => {
    const capabilities = context.object('capabilities');
    return capabilities
      .texts('add')
      .flatMap((name, at) => findIf(!allowed.includes(name), capabilities, `add[${at}]`, name));
  });
}

export const DEFAULT_CAPABILITIES = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
];

export const unrestrictedCapabilities: Find = (pod) => {
  const keeping = inContainerContexts((context) => {
    const capabilities = context.object('capabilities');
    return findIf(!capabilities.texts('drop').includes('ALL'), capabilities, 'drop');
  });
  return [...keeping(pod), ...addedCapabilities(['NET_BIND_SERVICE'])(pod)];
};

/** The probes of a container, and the handlers of its lifecycle. */
function handlersOf(container: ObjectReader): ObjectReader[] {
  const lifecycle = container.object('lifecycle');
  return [
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe) => container.object(probe)),
    ...['postStart', 'preStop'].map((event) => lifecycle.object(event)),
  ];
}

/** The kubelet would send requests from the node to any address. */
export const probeHosts = inContainers((container) =>
  handlersOf(container)
    .flatMap((handler) => [handler.object('httpGet'), handler.object('tcpSocket')])
    .flatMap((action) => findIf((action.text('host') ?? '') !== '', action, 'host')),
);

export const unmaskedProcMount = inContainerContexts((context) => {
  const value = context.text('procMount') ?? 'Default';
  return findIf(value !== 'Default', context, 'procMount');
});

export function seLinuxTypesExcept(types: readonly string[]): Find {
  return inContexts((context) => {
    const options = context.object('seLinuxOptions');
    return ['type', 'user', 'role'].flatMap((option) => {
      const allowed = option === 'type' ? types : [''];
      return findIf(!allowed.includes(options.text(option) ?? ''), options, option);
    });
  });
}

export const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t'];

export function sysctlsExcept(allowed: readonly string[]): Find {
  return ({ spec }) =>
    spec
      .object('securityContext')
      .objects('sysctls')
      .flatMap((sysctl) => findIf(!allowed.includes(sysctl.text('name') ?? ''), sysctl, 'name'));
}

export const SYSCTLS = [
  'kernel.shm_rmid_forced',
  ...['ip_local_port_range', 'tcp_syncookies', 'ping_group_range', 'ip_unprivileged_port_start'].map(ipv4),
];
export const SYSCTLS_27 = [...SYSCTLS, ipv4('ip_local_reserved_ports')];
export const SYSCTLS_29 = [
  ...SYSCTLS_27,
  ...['tcp_keepalive_time', 'tcp_fin_timeout', 'tcp_keepalive_intvl', 'tcp_keepalive_probes'].map(ipv4),
];
export const SYSCTLS_32 = [...SYSCTLS_29, ipv4('tcp_rmem'), ipv4('tcp_wmem')];

function ipv4(name: string): string {
  return `net.ipv4.${name}`;
}

export const mayEscalate = inContainerContexts((context) =>
  findIf(context.boolean('allowPrivilegeEscalation') !== false, context, 'allowPrivilegeEscalation'),
);

const ALLOWED_SOURCES = [
  ...['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'image', 'persistentVolumeClaim'],
  ...['projected', 'secret'],
];
const RESTRICTED_SOURCES = [
  ...['hostPath', 'gcePersistentDisk', 'awsElasticBlockStore', 'gitRepo', 'nfs', 'iscsi', 'glusterfs', 'rbd'],
  ...[
    'flexVolume',
    'cinder',
    'cephfs',
    'flocker',
    'fc',
    'azureFile',
    'vsphereVolume',
    'quobyte',
    'azureDisk',
  ],
  ...['photonPersistentDisk', 'portworxVolume', 'scaleIO', 'storageos'],
];

/**
 * Kubernetes allows a volume that has an allowed source beside a restricted one, since its validation refuses
 * such a volume before. It is forbidden here: an API server may not know the allowed source and ignore it.
 */
export function restrictedSource(volume: ObjectReader): Finding[] {
  // An allowed field must have the right type; a forbidden field is forbidden with any type.
  for (const source of ALLOWED_SOURCES) volume.object(source);
  const restricted = RESTRICTED_SOURCES.find((source) => volume.has(source));
  if (restricted !== undefined) return findIf(true, volume, restricted);
  const isAllowed = ALLOWED_SOURCES.some((source) => volume.has(source));
  return isAllowed ? [] : [{ path: volume.path, value: volume.fields }];
}

/** A container without the field is as the pod says. */
export const mayRunAsRoot: Find = (pod) => {
  const field = 'runAsNonRoot';
  const context = pod.spec.object('securityContext');
  const ofPod = context.boolean(field);
  const ofContainers = inContainerContexts((own) =>
    findIf((own.boolean(field) ?? ofPod) !== true, own, field),
  );
  return [...findIf(ofPod === false, context, field), ...ofContainers(pod)];
};

export const runsAsRoot = inContexts((context) =>
  findIf(context.integer('runAsUser') === 0, context, 'runAsUser'),
);

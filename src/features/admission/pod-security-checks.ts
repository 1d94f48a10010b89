/**
 * The checks of the Pod Security Standards: in which fields each of them finds a violation, since which
 * version of Kubernetes. `pod-security.ts` applies them.
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

export interface Check {
  readonly id: string;
  /** What is wrong: the words of the API server, and behind a colon what is required. */
  readonly reason: string;
  /** The versions of the check, by the minor version of Kubernetes from which on each applies, ascending. */
  readonly versions: readonly (readonly [since: number, find: Find])[];
  /** A check of the baseline that is left out if this one applies. */
  readonly overrides?: string;
}

/** @returns a finding at a field of the object if the condition holds */
function findIf(condition: boolean, object: ObjectReader, field: string, value?: unknown): Finding[] {
  return condition ? [{ path: object.pathOf(field), value: value ?? object.value(field) }] : [];
}

function inContainers(find: FindIn): Find {
  return ({ containers }) => containers.flatMap(find);
}

/** Checks the security contexts of the containers; an absent one is read as an empty one. */
function inContainerContexts(find: FindIn): Find {
  return inContainers((container) => find(container.object('securityContext')));
}

/** Checks the security context of the pod and those of its containers. */
function inContexts(find: FindIn): Find {
  return (pod) => [...find(pod.spec.object('securityContext')), ...inContainerContexts(find)(pod)];
}

/** Windows has other settings, and the API server refuses Linux' ones in its pods. */
function exceptWindows(find: Find): Find {
  return (pod) => (pod.spec.object('os').text('name') === 'windows' ? [] : find(pod));
}

/** Root in a user namespace of the pod's own is not root on the node. */
function exceptInUserNamespace(find: Find): Find {
  return (pod) => (pod.spec.boolean('hostUsers') === false ? [] : find(pod));
}

const PROFILE_TYPES: readonly string[] = ['RuntimeDefault', 'Localhost'];

/** Profiles of a type that no standard allows. */
function forbiddenProfiles(field: 'seccompProfile' | 'appArmorProfile'): Find {
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
const appArmorAnnotations: Find = (pod) =>
  annotationsIn(pod, (key, value) => key.startsWith(APP_ARMOR_PREFIX) && !APP_ARMOR_ALLOWED.test(value));

const SECCOMP_OF_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/';
const SECCOMP_ALLOWED = /^(?:runtime\/default$|docker\/default$|localhost\/)/;
/** The annotations of the pod and of its containers; one of another container is of no effect. */
const seccompAnnotations: Find = (pod) => {
  const ofContainers = pod.containers.map((container) => `${SECCOMP_PREFIX}${container.text('name') ?? ''}`);
  const keys = new Set([SECCOMP_OF_POD, ...ofContainers]);
  return annotationsIn(pod, (key, value) => keys.has(key) && !SECCOMP_ALLOWED.test(value));
};

const forbiddenSeccomp = forbiddenProfiles('seccompProfile');
const restrictedSeccomp: Find = (pod) => {
  const ofPod = pod.spec.object('securityContext').object('seccompProfile').text('type') ?? '';
  // Containers without a profile of their own have the pod's.
  const missing = inContainerContexts((context) =>
    findIf(!context.has('seccompProfile'), context, 'seccompProfile.type'),
  );
  return [...forbiddenSeccomp(pod), ...(PROFILE_TYPES.includes(ofPod) ? [] : missing(pod))];
};

function addedCapabilities(allowed: readonly string[]): Find {
  return inContainerContexts((context) => {
    const capabilities = context.object('capabilities');
    return capabilities
      .texts('add')
      .flatMap((name, at) => findIf(!allowed.includes(name), capabilities, `add[${at}]`, name));
  });
}

const DEFAULT_CAPABILITIES = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
];

const unrestrictedCapabilities: Find = (pod) => {
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
const probeHosts = inContainers((container) =>
  handlersOf(container)
    .flatMap((handler) => [handler.object('httpGet'), handler.object('tcpSocket')])
    .flatMap((action) => findIf((action.text('host') ?? '') !== '', action, 'host')),
);

const unmaskedProcMount = inContainerContexts((context) => {
  const value = context.text('procMount') ?? 'Default';
  return findIf(value !== 'Default', context, 'procMount');
});

function seLinuxTypesExcept(types: readonly string[]): Find {
  return inContexts((context) => {
    const options = context.object('seLinuxOptions');
    return ['type', 'user', 'role'].flatMap((option) => {
      const allowed = option === 'type' ? types : [''];
      return findIf(!allowed.includes(options.text(option) ?? ''), options, option);
    });
  });
}

const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t'];

function sysctlsExcept(allowed: readonly string[]): Find {
  return ({ spec }) =>
    spec
      .object('securityContext')
      .objects('sysctls')
      .flatMap((sysctl) => findIf(!allowed.includes(sysctl.text('name') ?? ''), sysctl, 'name'));
}

const SYSCTLS = [
  'kernel.shm_rmid_forced',
  ...['ip_local_port_range', 'tcp_syncookies', 'ping_group_range', 'ip_unprivileged_port_start'].map(ipv4),
];
const SYSCTLS_27 = [...SYSCTLS, ipv4('ip_local_reserved_ports')];
const SYSCTLS_29 = [
  ...SYSCTLS_27,
  ...['tcp_keepalive_time', 'tcp_fin_timeout', 'tcp_keepalive_intvl', 'tcp_keepalive_probes'].map(ipv4),
];
const SYSCTLS_32 = [...SYSCTLS_29, ipv4('tcp_rmem'), ipv4('tcp_wmem')];

function ipv4(name: string): string {
  return `net.ipv4.${name}`;
}

const mayEscalate = inContainerContexts((context) =>
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
function restrictedSource(volume: ObjectReader): Finding[] {
  // An allowed field must have the right type; a forbidden field is forbidden with any type.
  for (const source of ALLOWED_SOURCES) volume.object(source);
  const restricted = RESTRICTED_SOURCES.find((source) => volume.has(source));
  if (restricted !== undefined) return findIf(true, volume, restricted);
  const isAllowed = ALLOWED_SOURCES.some((source) => volume.has(source));
  return isAllowed ? [] : [{ path: volume.path, value: volume.fields }];
}

/** A container without the field is as the pod says. */
const mayRunAsRoot: Find = (pod) => {
  const field = 'runAsNonRoot';
  const context = pod.spec.object('securityContext');
  const ofPod = context.boolean(field);
  const ofContainers = inContainerContexts((own) =>
    findIf((own.boolean(field) ?? ofPod) !== true, own, field),
  );
  return [...findIf(ofPod === false, context, field), ...ofContainers(pod)];
};

const runsAsRoot = inContexts((context) => findIf(context.integer('runAsUser') === 0, context, 'runAsUser'));

export const BASELINE: readonly Check[] = [
  {
    id: 'appArmorProfile',
    reason: 'forbidden AppArmor profile',
    versions: [[0, (pod) => [...forbiddenProfiles('appArmorProfile')(pod), ...appArmorAnnotations(pod)]]],
  },
  {
    id: 'capabilities_baseline',
    reason: 'non-default capabilities',
    versions: [[0, addedCapabilities(DEFAULT_CAPABILITIES)]],
  },
  {
    id: 'hostNamespaces',
    reason: 'host namespaces',
    versions: [
      [
        0,
        ({ spec }) =>
          ['hostNetwork', 'hostPID', 'hostIPC'].flatMap((field) =>
            findIf(spec.boolean(field) === true, spec, field),
          ),
      ],
    ],
  },
  {
    id: 'hostPathVolumes',
    reason: 'hostPath volumes',
    versions: [
      [
        0,
        ({ spec }) =>
          spec.objects('volumes').flatMap((volume) => findIf(volume.has('hostPath'), volume, 'hostPath')),
      ],
    ],
  },
  {
    id: 'hostPorts',
    reason: 'hostPort',
    versions: [
      [
        0,
        inContainers((container) =>
          container
            .objects('ports')
            .flatMap((port) => findIf((port.integer('hostPort') ?? 0) !== 0, port, 'hostPort')),
        ),
      ],
    ],
  },
  { id: 'hostProbesAndHostLifecycle', reason: 'probe or lifecycle host', versions: [[34, probeHosts]] },
  {
    id: 'privileged',
    reason: 'privileged',
    versions: [
      [
        0,
        inContainerContexts((context) =>
          findIf(context.boolean('privileged') === true, context, 'privileged'),
        ),
      ],
    ],
  },
  {
    id: 'procMount',
    reason: 'procMount',
    versions: [
      [0, unmaskedProcMount],
      [35, exceptInUserNamespace(unmaskedProcMount)],
    ],
  },
  {
    id: 'seLinuxOptions',
    reason: 'seLinuxOptions',
    versions: [
      [0, seLinuxTypesExcept(SELINUX_TYPES)],
      [31, seLinuxTypesExcept([...SELINUX_TYPES, 'container_engine_t'])],
    ],
  },
  {
    id: 'seccompProfile_baseline',
    reason: 'seccompProfile',
    versions: [
      [0, seccompAnnotations],
      [19, forbiddenSeccomp],
    ],
  },
  {
    id: 'sysctls',
    reason: 'forbidden sysctls',
    versions: [
      [0, sysctlsExcept(SYSCTLS)],
      [27, sysctlsExcept(SYSCTLS_27)],
      [29, sysctlsExcept(SYSCTLS_29)],
      [32, sysctlsExcept(SYSCTLS_32)],
    ],
  },
  {
    id: 'windowsHostProcess',
    reason: 'hostProcess',
    versions: [
      [
        0,
        inContexts((context) => {
          const options = context.object('windowsOptions');
          return findIf(options.boolean('hostProcess') === true, options, 'hostProcess');
        }),
      ],
    ],
  },
];

export const RESTRICTED: readonly Check[] = [
  ...BASELINE,
  {
    id: 'allowPrivilegeEscalation',
    reason: 'allowPrivilegeEscalation != false',
    versions: [
      [8, mayEscalate],
      [25, exceptWindows(mayEscalate)],
    ],
  },
  {
    id: 'capabilities_restricted',
    overrides: 'capabilities_baseline',
    reason: 'unrestricted capabilities: ALL must be dropped, and only NET_BIND_SERVICE may be added',
    versions: [
      [22, unrestrictedCapabilities],
      [25, exceptWindows(unrestrictedCapabilities)],
    ],
  },
  {
    // From v1.35 on the baseline allows more to pods in a user namespace.
    id: 'procMount_restricted',
    overrides: 'procMount',
    reason: 'procMount',
    versions: [[35, unmaskedProcMount]],
  },
  {
    id: 'restrictedVolumes',
    overrides: 'hostPathVolumes',
    reason: 'restricted volume types',
    versions: [[0, ({ spec }) => spec.objects('volumes').flatMap(restrictedSource)]],
  },
  {
    id: 'runAsNonRoot',
    reason: 'runAsNonRoot != true',
    versions: [
      [0, mayRunAsRoot],
      [35, exceptInUserNamespace(mayRunAsRoot)],
    ],
  },
  {
    id: 'runAsUser',
    reason: 'runAsUser=0',
    versions: [
      [23, runsAsRoot],
      [35, exceptInUserNamespace(runsAsRoot)],
    ],
  },
  {
    id: 'seccompProfile_restricted',
    overrides: 'seccompProfile_baseline',
    reason: 'seccompProfile: RuntimeDefault or Localhost is required',
    versions: [
      [19, restrictedSeccomp],
      [25, exceptWindows(restrictedSeccomp)],
    ],
  },
];

/**
 * Checks of the restricted standard, except those of security profiles.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted;
 * https://github.com/kubernetes/pod-security-admission/tree/v0.36.3/policy
 */
import type { ObjectReader } from '../object-reader.ts';
import {
  addedCapabilitiesDetail,
  addedCapabilitiesExcept,
  procMountDetail,
  unmaskedProcMount,
} from './baseline-checks.ts';
import {
  type Check,
  containers,
  exceptInUserNamespace,
  exceptWindows,
  type Find,
  type Finding,
  findIf,
  heldBy,
  holdersOf,
  inContainerContexts,
  inContexts,
  ofKind,
  plural,
  quoted,
  setters,
  shown,
  using,
} from './check.ts';

const mayEscalate = inContainerContexts((context) => {
  const value = context.boolean('allowPrivilegeEscalation');
  return findIf(value !== false, context, 'allowPrivilegeEscalation', value);
});

export const allowPrivilegeEscalation: Check = {
  id: 'allowPrivilegeEscalation',
  versions: [
    [8, mayEscalate],
    [25, exceptWindows(mayEscalate)],
  ],
  reason: 'allowPrivilegeEscalation != false',
  detail: (findings) => `${containers(findings)} must set securityContext.allowPrivilegeEscalation=false`,
};

const unrestrictedCapabilities = inContainerContexts((context) => {
  const capabilities = context.object('capabilities');
  const dropped = capabilities.texts('drop');
  return [
    ...findIf(!dropped.includes('ALL'), capabilities, 'drop', dropped, 'drop'),
    ...addedCapabilitiesExcept(['NET_BIND_SERVICE'], context),
  ];
});

export const capabilitiesRestricted: Check = {
  id: 'capabilities_restricted',
  overrides: 'capabilities_baseline',
  versions: [
    [22, unrestrictedCapabilities],
    [25, exceptWindows(unrestrictedCapabilities)],
  ],
  reason: 'unrestricted capabilities',
  detail(findings) {
    const dropping = ofKind(findings, 'drop');
    const adding = ofKind(findings, 'add');
    return [
      ...(dropping.length > 0
        ? [`${containers(dropping)} must set securityContext.capabilities.drop=["ALL"]`]
        : []),
      ...(adding.length > 0 ? [addedCapabilitiesDetail(adding)] : []),
    ].join('; ');
  },
};

/** From v1.35 on the baseline allows more to pods in a user namespace. */
export const procMountRestricted: Check = {
  id: 'procMount_restricted',
  overrides: 'procMount',
  versions: [[35, unmaskedProcMount]],
  reason: 'procMount',
  detail: procMountDetail,
};

const ALLOWED_SOURCES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];
/** The allowed volume sources, in the order in which a message names them. */
const RESTRICTED_SOURCES = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'gitRepo',
  'nfs',
  'iscsi',
  'glusterfs',
  'rbd',
  'flexVolume',
  'cinder',
  'cephfs',
  'flocker',
  'fc',
  'azureFile',
  'vsphereVolume',
  'quobyte',
  'azureDisk',
  'photonPersistentDisk',
  'portworxVolume',
  'scaleIO',
  'storageos',
];

function restrictedSource(volume: ObjectReader): Finding[] {
  // An allowed field must have the right type; a forbidden field is forbidden with any type.
  for (const source of ALLOWED_SOURCES) volume.object(source);
  const restricted = RESTRICTED_SOURCES.find((source) => volume.has(source));
  if (restricted !== undefined)
    return [{ path: volume.pathOf(restricted), value: volume.value(restricted), shown: restricted }];
  const isAllowed = ALLOWED_SOURCES.some((source) => volume.has(source));
  return isAllowed ? [] : [{ path: volume.path, value: volume.fields, shown: 'unknown' }];
}

/**
 * Kubernetes allows a volume that has an allowed source beside a restricted one, since its validation refuses
 * such a volume before. It is forbidden here: an API server may not know the allowed source and ignore it.
 */
export const restrictedVolumes: Check = {
  id: 'restrictedVolumes',
  overrides: 'hostPathVolumes',
  versions: [
    [0, ({ spec }) => spec.objects('volumes').flatMap((volume) => heldBy(volume, restrictedSource(volume)))],
  ],
  reason: 'restricted volume types',
  detail(findings) {
    const types = shown(findings);
    const use = using('volume', holdersOf(findings));
    return `${use} ${plural(types.length, 'restricted volume type')} ${quoted(types)}`;
  },
};

/** A container without the field is as the pod says. */
const mayRunAsRoot: Find = (pod) => {
  const field = 'runAsNonRoot';
  const context = pod.spec.object('securityContext');
  const ofPod = context.boolean(field);
  const find = inContainerContexts((own) => {
    const value = own.boolean(field);
    if (value === undefined) return findIf(ofPod !== true, own, field, value, 'missing');
    return findIf(!value, own, field, value);
  });
  return [...findIf(ofPod === false, context, field, ofPod), ...find(pod)];
};

export const runAsNonRoot: Check = {
  id: 'runAsNonRoot',
  versions: [
    [0, mayRunAsRoot],
    [35, exceptInUserNamespace(mayRunAsRoot)],
  ],
  reason: 'runAsNonRoot != true',
  detail(findings) {
    const explicit = ofKind(findings, undefined);
    return explicit.length > 0
      ? `${setters(explicit)} must not set securityContext.runAsNonRoot=false`
      : `pod or ${containers(findings)} must set securityContext.runAsNonRoot=true`;
  },
};

const runsAsRoot = inContexts((context) =>
  findIf(context.integer('runAsUser') === 0, context, 'runAsUser', 0),
);

export const runAsUser: Check = {
  id: 'runAsUser',
  versions: [
    [23, runsAsRoot],
    [35, exceptInUserNamespace(runsAsRoot)],
  ],
  reason: 'runAsUser=0',
  detail: (findings) => `${setters(findings)} must not set runAsUser=0`,
};

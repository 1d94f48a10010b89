/**
 * Checks of the restricted standard, except those of security profiles.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted;
 * https://github.com/kubernetes/pod-security-admission/tree/v0.36.3/policy
 */
import {
  addedCapabilitiesDetail,
  addedCapabilitiesExcept,
  describeProcMount,
  unmaskedProcMount,
} from './baseline-checks.ts';
import {
  type Check,
  containers,
  exceptInUserNamespace,
  exceptWindows,
  type Find,
  findIf,
  holdersOf,
  inContainers,
  plural,
  quoted,
  setters,
  shown,
} from './check.ts';
import { ALLOWED_SOURCES } from './pod.ts';

const mayEscalate: Find = inContainers(({ securityContext: { path, allowPrivilegeEscalation } }) =>
  findIf(allowPrivilegeEscalation !== false, {
    path: `${path}.allowPrivilegeEscalation`,
    value: allowPrivilegeEscalation,
    shown: '',
  }),
);

export const allowPrivilegeEscalation: Check = {
  id: 'allowPrivilegeEscalation',
  level: 'restricted',
  versions: [
    { since: 8, find: mayEscalate },
    { since: 25, find: exceptWindows(mayEscalate) },
  ],
  describe: (findings) => ({
    reason: 'allowPrivilegeEscalation != false',
    detail: `${containers(findings)} must set securityContext.allowPrivilegeEscalation=false`,
  }),
};

const addedExceptNetBindService = addedCapabilitiesExcept(new Set(['NET_BIND_SERVICE']));

const unrestrictedCapabilities: Find = inContainers((container) => {
  const { path, droppedCapabilities } = container.securityContext;
  return [
    ...findIf(!droppedCapabilities.includes('ALL'), {
      path: `${path}.capabilities.drop`,
      value: droppedCapabilities,
      shown: '',
      kind: 'drop',
    }),
    ...addedExceptNetBindService(container),
  ];
});

export const capabilitiesRestricted: Check = {
  id: 'capabilities_restricted',
  level: 'restricted',
  overrides: 'capabilities_baseline',
  versions: [
    { since: 22, find: unrestrictedCapabilities },
    { since: 25, find: exceptWindows(unrestrictedCapabilities) },
  ],
  describe(findings) {
    const dropping = findings.filter(({ kind }) => kind === 'drop');
    const adding = findings.filter(({ kind }) => kind === 'add');
    const details = [
      ...(dropping.length > 0
        ? [`${containers(dropping)} must set securityContext.capabilities.drop=["ALL"]`]
        : []),
      ...(adding.length > 0 ? [addedCapabilitiesDetail(adding)] : []),
    ];
    return { reason: 'unrestricted capabilities', detail: details.join('; ') };
  },
};

/** From v1.35 on the baseline allows more to pods in a user namespace. */
export const procMountRestricted: Check = {
  id: 'procMount_restricted',
  level: 'restricted',
  overrides: 'procMount',
  versions: [{ since: 35, find: unmaskedProcMount }],
  describe: describeProcMount,
};

/** In the order in which a message names one of them. */
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
] as const;

/**
 * Kubernetes allows a volume that has an allowed source beside a restricted one, since its validation refuses
 * such a volume before. It is forbidden here: an API server may not know the allowed source and ignore it.
 */
export const restrictedVolumes: Check = {
  id: 'restrictedVolumes',
  level: 'restricted',
  overrides: 'hostPathVolumes',
  versions: [
    {
      since: 0,
      find: ({ volumes }) =>
        volumes.flatMap(({ path, name, sources }) => {
          const restricted = RESTRICTED_SOURCES.find((source) => sources.has(source));
          const isAllowed = restricted === undefined && ALLOWED_SOURCES.some((source) => sources.has(source));
          const value = restricted === undefined ? Object.fromEntries(sources) : sources.get(restricted);
          return findIf(!isAllowed, {
            path: restricted === undefined ? path : `${path}.${restricted}`,
            value,
            holder: { path, name },
            shown: restricted ?? 'unknown',
          });
        }),
    },
  ],
  describe(findings) {
    const volumes = holdersOf(findings);
    const types = shown(findings);
    const use = `${plural(volumes.length, 'volume')} ${quoted(volumes)} ${volumes.length === 1 ? 'uses' : 'use'}`;
    return {
      reason: 'restricted volume types',
      detail: `${use} ${plural(types.length, 'restricted volume type')} ${quoted(types)}`,
    };
  },
};

/** A container without the field is as the pod says. */
const mayRunAsRoot: Find = (pod) => {
  const { path, runAsNonRoot } = pod.securityContext;
  const ofContainers = inContainers(({ securityContext }) => {
    const own = securityContext.runAsNonRoot;
    const finding = { path: `${securityContext.path}.runAsNonRoot`, value: own, shown: '' };
    if (own === undefined) return findIf(runAsNonRoot !== true, { ...finding, kind: 'missing' });
    return findIf(!own, finding);
  });
  return [
    ...findIf(runAsNonRoot === false, { path: `${path}.runAsNonRoot`, value: false, shown: '' }),
    ...ofContainers(pod),
  ];
};

export const runAsNonRoot: Check = {
  id: 'runAsNonRoot',
  level: 'restricted',
  versions: [
    { since: 0, find: mayRunAsRoot },
    { since: 35, find: exceptInUserNamespace(mayRunAsRoot) },
  ],
  describe(findings) {
    const reason = 'runAsNonRoot != true';
    const explicit = findings.filter(({ kind }) => kind !== 'missing');
    if (explicit.length > 0)
      return { reason, detail: `${setters(explicit)} must not set securityContext.runAsNonRoot=false` };
    return { reason, detail: `pod or ${containers(findings)} must set securityContext.runAsNonRoot=true` };
  },
};

const runsAsRoot: Find = (pod) => {
  const find = ({ securityContext }: { securityContext: { path: string; runAsUser: number | undefined } }) =>
    findIf(securityContext.runAsUser === 0, {
      path: `${securityContext.path}.runAsUser`,
      value: 0,
      shown: '0',
    });
  return [...find(pod), ...inContainers(find)(pod)];
};

export const runAsUser: Check = {
  id: 'runAsUser',
  level: 'restricted',
  versions: [
    { since: 23, find: runsAsRoot },
    { since: 35, find: exceptInUserNamespace(runsAsRoot) },
  ],
  describe: (findings) => ({
    reason: 'runAsUser=0',
    detail: `${setters(findings)} must not set runAsUser=0`,
  }),
};

/**
 * The checks of the Pod Security Standards, since which version of Kubernetes each of them applies in which
 * form. `pod-security.ts` applies them.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/;
 * https://github.com/kubernetes/pod-security-admission/tree/v0.36.3/policy
 */
import {
  addedCapabilities,
  appArmorAnnotations,
  DEFAULT_CAPABILITIES,
  exceptInUserNamespace,
  exceptWindows,
  type Find,
  findIf,
  forbiddenProfiles,
  forbiddenSeccomp,
  inContainerContexts,
  inContainers,
  inContexts,
  mayEscalate,
  mayRunAsRoot,
  probeHosts,
  restrictedSeccomp,
  restrictedSource,
  runsAsRoot,
  SELINUX_TYPES,
  SYSCTLS,
  SYSCTLS_27,
  SYSCTLS_29,
  SYSCTLS_32,
  seccompAnnotations,
  seLinuxTypesExcept,
  sysctlsExcept,
  unmaskedProcMount,
  unrestrictedCapabilities,
} from './pod-security-fields.ts';

export interface Check {
  readonly id: string;
  /** The API server's words for the violation, then a colon and the requirement. */
  readonly reason: string;
  /** The versions of the check, by the minor version of Kubernetes from which on each applies, ascending. */
  readonly versions: readonly (readonly [since: number, find: Find])[];
  /** A check of the baseline that is left out if this one applies. */
  readonly overrides?: string;
}

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
    // The baseline of v1.35 and later allows more to pods in a user namespace.
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

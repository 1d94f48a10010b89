/**
 * Checks of the baseline standard, except those of security profiles.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline;
 * https://github.com/kubernetes/pod-security-admission/tree/v0.36.3/policy
 */
import type { ObjectReader } from '../object-reader.ts';
import {
  type Check,
  containers,
  exceptInUserNamespace,
  type Find,
  type Finding,
  findIf,
  heldBy,
  holdersOf,
  inContainerContexts,
  inContainers,
  inContexts,
  plural,
  quoted,
  setters,
  shown,
  sorted,
  using,
} from './check.ts';

const DEFAULT_CAPABILITIES = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];

export const capabilitiesBaseline: Check = {
  id: 'capabilities_baseline',
  versions: [[0, inContainerContexts((context) => addedCapabilitiesExcept(DEFAULT_CAPABILITIES, context))]],
  reason: 'non-default capabilities',
  detail: addedCapabilitiesDetail,
};

export function addedCapabilitiesExcept(allowed: readonly string[], context: ObjectReader): Finding[] {
  const capabilities = context.object('capabilities');
  return capabilities
    .texts('add')
    .flatMap((name, at) => findIf(!allowed.includes(name), capabilities, `add[${at}]`, name, 'add'));
}

export function addedCapabilitiesDetail(findings: readonly Finding[]): string {
  return `${containers(findings)} must not include ${quoted(shown(findings))} in securityContext.capabilities.add`;
}

export const hostNamespaces: Check = {
  id: 'hostNamespaces',
  versions: [
    [
      0,
      ({ spec }) =>
        ['hostNetwork', 'hostPID', 'hostIPC'].flatMap((field) =>
          findIf(spec.boolean(field) === true, spec, field, true, `${field}=true`),
        ),
    ],
  ],
  reason: 'host namespaces',
  detail: (findings) => findings.map(({ kind }) => kind).join(', '),
};

export const hostPathVolumes: Check = {
  id: 'hostPathVolumes',
  versions: [
    [
      0,
      ({ spec }) =>
        spec
          .objects('volumes')
          .flatMap((volume) =>
            heldBy(volume, findIf(volume.has('hostPath'), volume, 'hostPath', volume.value('hostPath'))),
          ),
    ],
  ],
  reason: 'hostPath volumes',
  detail(findings) {
    const volumes = holdersOf(findings);
    return `${plural(volumes.length, 'volume')} ${quoted(volumes)}`;
  },
};

export const hostPorts: Check = {
  id: 'hostPorts',
  versions: [
    [
      0,
      inContainers((container) =>
        container.objects('ports').flatMap((port) => {
          const hostPort = port.integer('hostPort') ?? 0;
          return findIf(hostPort !== 0, port, 'hostPort', hostPort);
        }),
      ),
    ],
  ],
  reason: 'hostPort',
  detail(findings) {
    const ports = shown(findings);
    const who = using('container', holdersOf(findings));
    return `${who} ${plural(ports.length, 'hostPort')} ${ports.join(', ')}`;
  },
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
export const hostProbesAndHostLifecycle: Check = {
  id: 'hostProbesAndHostLifecycle',
  versions: [
    [
      34,
      inContainers((container) =>
        handlersOf(container)
          .flatMap((handler) => [handler.object('httpGet'), handler.object('tcpSocket')])
          .flatMap((action) => {
            const host = action.text('host') ?? '';
            return findIf(host !== '', action, 'host', host);
          }),
      ),
    ],
  ],
  reason: 'probe or lifecycle host',
  detail(findings) {
    const hosts = shown(findings);
    const who = using('container', sorted(holdersOf(findings)));
    return `${who} ${plural(hosts.length, 'probe or lifecycle host')} ${quoted(hosts)}`;
  },
};

export const privileged: Check = {
  id: 'privileged',
  versions: [
    [
      0,
      inContainerContexts((context) =>
        findIf(context.boolean('privileged') === true, context, 'privileged', true),
      ),
    ],
  ],
  reason: 'privileged',
  detail: (findings) => `${containers(findings)} must not set securityContext.privileged=true`,
};

export const unmaskedProcMount: Find = inContainerContexts((context) => {
  const value = context.text('procMount');
  return findIf(value !== undefined && value !== 'Default', context, 'procMount', value);
});

export const procMount: Check = {
  id: 'procMount',
  versions: [
    [0, unmaskedProcMount],
    [35, exceptInUserNamespace(unmaskedProcMount)],
  ],
  reason: 'procMount',
  detail: procMountDetail,
};

export function procMountDetail(findings: readonly Finding[]): string {
  return `${containers(findings)} must not set securityContext.procMount to ${quoted(shown(findings))}`;
}

const SYSCTLS = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
];
const SYSCTLS_27 = [...SYSCTLS, 'net.ipv4.ip_local_reserved_ports'];
const SYSCTLS_29 = [
  ...SYSCTLS_27,
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
];
const SYSCTLS_32 = [...SYSCTLS_29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];

export const sysctls: Check = {
  id: 'sysctls',
  versions: [
    [0, sysctlsExcept(SYSCTLS)],
    [27, sysctlsExcept(SYSCTLS_27)],
    [29, sysctlsExcept(SYSCTLS_29)],
    [32, sysctlsExcept(SYSCTLS_32)],
  ],
  reason: 'forbidden sysctls',
  detail: (findings) => findings.map(({ shown }) => shown).join(', '),
};

function sysctlsExcept(allowed: readonly string[]): Find {
  return ({ spec }) =>
    spec
      .object('securityContext')
      .objects('sysctls')
      .flatMap((sysctl) => {
        const name = sysctl.text('name') ?? '';
        return findIf(!allowed.includes(name), sysctl, 'name', name);
      });
}

export const windowsHostProcess: Check = {
  id: 'windowsHostProcess',
  versions: [
    [
      0,
      inContexts((context) => {
        const options = context.object('windowsOptions');
        return findIf(options.boolean('hostProcess') === true, options, 'hostProcess', true);
      }),
    ],
  ],
  reason: 'hostProcess',
  detail: (findings) => `${setters(findings)} must not set securityContext.windowsOptions.hostProcess=true`,
};

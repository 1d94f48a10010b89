/**
 * Checks of the baseline standard, except those of security profiles.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline;
 * https://github.com/kubernetes/pod-security-admission/tree/v0.36.3/policy
 */
import {
  type Check,
  containers,
  exceptInUserNamespace,
  type Find,
  type Finding,
  findIf,
  holdersOf,
  inContainers,
  plural,
  quoted,
  setters,
  shown,
  sorted,
} from './check.ts';

const DEFAULT_CAPABILITIES: ReadonlySet<string> = new Set([
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
]);

export const capabilitiesBaseline: Check = {
  id: 'capabilities_baseline',
  level: 'baseline',
  versions: [{ since: 0, find: inContainers(addedCapabilitiesExcept(DEFAULT_CAPABILITIES)) }],
  describe: (findings) => ({
    reason: 'non-default capabilities',
    detail: addedCapabilitiesDetail(findings),
  }),
};

export function addedCapabilitiesExcept(allowed: ReadonlySet<string>) {
  return ({ securityContext }: { securityContext: { path: string; addedCapabilities: readonly string[] } }) =>
    securityContext.addedCapabilities.flatMap((capability, at) =>
      findIf(!allowed.has(capability), {
        path: `${securityContext.path}.capabilities.add[${at}]`,
        value: capability,
        shown: capability,
        kind: 'add',
      }),
    );
}

export function addedCapabilitiesDetail(findings: readonly Finding[]): string {
  return `${containers(findings)} must not include ${quoted(shown(findings))} in securityContext.capabilities.add`;
}

export const hostNamespaces: Check = {
  id: 'hostNamespaces',
  level: 'baseline',
  versions: [
    {
      since: 0,
      find: (pod) =>
        (['hostNetwork', 'hostPID', 'hostIPC'] as const).flatMap((field) =>
          findIf(pod[field] === true, { path: `${pod.path}.${field}`, value: true, shown: `${field}=true` }),
        ),
    },
  ],
  describe: (findings) => ({
    reason: 'host namespaces',
    detail: findings.map(({ shown }) => shown).join(', '),
  }),
};

export const hostPathVolumes: Check = {
  id: 'hostPathVolumes',
  level: 'baseline',
  versions: [
    {
      since: 0,
      find: ({ volumes }) =>
        volumes.flatMap(({ path, name, sources }) =>
          findIf(sources.has('hostPath'), {
            path: `${path}.hostPath`,
            value: sources.get('hostPath'),
            holder: { path, name },
            shown: 'hostPath',
          }),
        ),
    },
  ],
  describe(findings) {
    const volumes = holdersOf(findings);
    return { reason: 'hostPath volumes', detail: `${plural(volumes.length, 'volume')} ${quoted(volumes)}` };
  },
};

export const hostPorts: Check = {
  id: 'hostPorts',
  level: 'baseline',
  versions: [
    {
      since: 0,
      find: inContainers(({ hostPorts }) =>
        hostPorts.flatMap(({ path, port }) => findIf(port !== 0, { path, value: port, shown: String(port) })),
      ),
    },
  ],
  describe(findings) {
    const ports = shown(findings);
    return {
      reason: 'hostPort',
      detail: `${containers(findings)} ${uses(findings)} ${plural(ports.length, 'hostPort')} ${ports.join(', ')}`,
    };
  },
};

/** The kubelet would send requests from the node to any address. */
export const hostProbesAndHostLifecycle: Check = {
  id: 'hostProbesAndHostLifecycle',
  level: 'baseline',
  versions: [
    {
      since: 34,
      find: inContainers(({ hosts }) =>
        hosts.flatMap(({ path, host }) => findIf(host !== '', { path, value: host, shown: host })),
      ),
    },
  ],
  describe(findings) {
    const names = sorted(holdersOf(findings));
    const hosts = shown(findings);
    const holders = `${plural(names.length, 'container')} ${quoted(names)} ${names.length === 1 ? 'uses' : 'use'}`;
    return {
      reason: 'probe or lifecycle host',
      detail: `${holders} ${plural(hosts.length, 'probe or lifecycle host')} ${quoted(hosts)}`,
    };
  },
};

export const privileged: Check = {
  id: 'privileged',
  level: 'baseline',
  versions: [
    {
      since: 0,
      find: inContainers(({ securityContext: { path, privileged } }) =>
        findIf(privileged === true, { path: `${path}.privileged`, value: true, shown: 'true' }),
      ),
    },
  ],
  describe: (findings) => ({
    reason: 'privileged',
    detail: `${containers(findings)} must not set securityContext.privileged=true`,
  }),
};

export const unmaskedProcMount: Find = inContainers(({ securityContext: { path, procMount } }) =>
  findIf(procMount !== undefined && procMount !== 'Default', {
    path: `${path}.procMount`,
    value: procMount,
    shown: procMount ?? '',
  }),
);

export const procMount: Check = {
  id: 'procMount',
  level: 'baseline',
  versions: [
    { since: 0, find: unmaskedProcMount },
    { since: 35, find: exceptInUserNamespace(unmaskedProcMount) },
  ],
  describe: describeProcMount,
};

export function describeProcMount(findings: readonly Finding[]) {
  return {
    reason: 'procMount',
    detail: `${containers(findings)} must not set securityContext.procMount to ${quoted(shown(findings))}`,
  };
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
  level: 'baseline',
  versions: [
    { since: 0, find: sysctlsExcept(SYSCTLS) },
    { since: 27, find: sysctlsExcept(SYSCTLS_27) },
    { since: 29, find: sysctlsExcept(SYSCTLS_29) },
    { since: 32, find: sysctlsExcept(SYSCTLS_32) },
  ],
  describe: (findings) => ({
    reason: 'forbidden sysctls',
    detail: findings.map(({ shown }) => shown).join(', '),
  }),
};

function sysctlsExcept(names: readonly string[]): Find {
  const allowed = new Set(names);
  return ({ sysctls }) =>
    sysctls.flatMap(({ path, name }) =>
      findIf(!allowed.has(name), { path: `${path}.name`, value: name, shown: name }),
    );
}

export const windowsHostProcess: Check = {
  id: 'windowsHostProcess',
  level: 'baseline',
  versions: [
    {
      since: 0,
      find: (pod) => [...hostProcessIn(pod), ...inContainers(hostProcessIn)(pod)],
    },
  ],
  describe: (findings) => ({
    reason: 'hostProcess',
    detail: `${setters(findings)} must not set securityContext.windowsOptions.hostProcess=true`,
  }),
};

function hostProcessIn({
  securityContext: { path, hostProcess },
}: {
  securityContext: { path: string; hostProcess: boolean | undefined };
}): Finding[] {
  return findIf(hostProcess === true, {
    path: `${path}.windowsOptions.hostProcess`,
    value: true,
    shown: 'true',
  });
}

function uses(findings: readonly Finding[]): string {
  return holdersOf(findings).length === 1 ? 'uses' : 'use';
}

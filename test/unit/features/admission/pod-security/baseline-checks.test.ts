import t from 'tap';
import {
  ALWAYS,
  C,
  type CheckCase,
  container,
  NEVER,
  NEWEST_MINOR,
  one,
  testCheck,
} from '../../../../support/pod-security.ts';

const SECCOMP = 'seccomp.security.alpha.kubernetes.io';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io';

const BASELINE: readonly CheckCase[] = [
  {
    check: 'appArmorProfile',
    spec: one({ appArmorProfile: { type: 'Unconfined' } }),
    in: ALWAYS,
    says: 'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
    at: `${C}.securityContext.appArmorProfile.type`,
  },
  { check: 'appArmorProfile', spec: one({ appArmorProfile: { type: 'Localhost' } }), in: NEVER },
  { check: 'appArmorProfile', spec: one({ appArmorProfile: {} }), in: ALWAYS },
  {
    check: 'appArmorProfile',
    spec: { securityContext: { appArmorProfile: { type: 'x' } }, containers: [] },
    annotations: {
      [`${APP_ARMOR}/c`]: 'un"confined',
      [`${APP_ARMOR}/d`]: '',
      [`${APP_ARMOR}/e`]: 'localhost/x',
    },
    in: ALWAYS,
    says: `forbidden AppArmor profiles (pod and annotation must not set AppArmor profile type to "x", "${APP_ARMOR}/c="un\\"confined"")`,
    at: 'spec.securityContext.appArmorProfile.type',
  },
  {
    check: 'capabilities_baseline',
    spec: {
      initContainers: [
        container({ securityContext: { capabilities: { add: ['CHOWN', 'SYS_ADMIN', 'BPF'] } } }),
      ],
    },
    in: ALWAYS,
    says: 'non-default capabilities (container "c" must not include "BPF", "SYS_ADMIN" in securityContext.capabilities.add)',
    at: 'spec.initContainers[0].securityContext.capabilities.add[1]',
  },
  { check: 'capabilities_baseline', spec: one({ capabilities: { add: ['CHOWN'], drop: ['X'] } }), in: NEVER },
  { check: 'capabilities_baseline', spec: one({ capabilities: { add: ['chown'] } }), in: ALWAYS },
  {
    check: 'hostNamespaces',
    spec: { hostIPC: true, hostNetwork: true, hostPID: true },
    in: ALWAYS,
    says: 'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)',
    at: 'spec.hostNetwork',
  },
  { check: 'hostNamespaces', spec: { hostIPC: false, hostNetwork: null }, in: NEVER },
  {
    check: 'hostPathVolumes',
    spec: {
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', hostPath: {} },
        { name: 'd', hostPath: 'x' },
      ],
    },
    in: ALWAYS,
    says: 'hostPath volumes (volumes "b", "d")',
    at: 'spec.volumes[1].hostPath',
  },
  { check: 'hostPathVolumes', spec: { volumes: [{ name: 'a', hostPath: null, emptyDir: {} }] }, in: NEVER },
  {
    check: 'hostPorts',
    spec: { containers: [container({ ports: [{ hostPort: 0 }, { hostPort: 9 }, { hostPort: 80 }] })] },
    in: ALWAYS,
    says: 'hostPort (container "c" uses hostPorts 80, 9)',
    at: `${C}.ports[1].hostPort`,
  },
  { check: 'hostPorts', spec: { containers: [container({ ports: [{ containerPort: 80 }] })] }, in: NEVER },
  ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe) => ({
    check: 'hostProbesAndHostLifecycle',
    spec: { containers: [container({ [probe]: { httpGet: { host: 'h' } } })] },
    in: [34, NEWEST_MINOR] as const,
    says: 'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
    at: `${C}.${probe}.httpGet.host`,
  })),
  ...['postStart', 'preStop'].map((event) => ({
    check: 'hostProbesAndHostLifecycle',
    spec: { containers: [container({ lifecycle: { [event]: { tcpSocket: { host: 'h' } } } })] },
    in: [34, NEWEST_MINOR] as const,
    at: `${C}.lifecycle.${event}.tcpSocket.host`,
  })),
  {
    check: 'hostProbesAndHostLifecycle',
    spec: { containers: [container({ livenessProbe: { httpGet: { host: '', port: 1 }, exec: {} } })] },
    in: NEVER,
  },
  {
    check: 'privileged',
    spec: { ephemeralContainers: [container({ securityContext: { privileged: true } })] },
    in: ALWAYS,
    says: 'privileged (container "c" must not set securityContext.privileged=true)',
    at: 'spec.ephemeralContainers[0].securityContext.privileged',
  },
  { check: 'privileged', spec: one({ privileged: false }), in: NEVER },
  {
    check: 'procMount',
    spec: one({ procMount: 'Unmasked' }),
    in: ALWAYS,
    says: 'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    at: `${C}.securityContext.procMount`,
  },
  { check: 'procMount', spec: one({ procMount: 'Default' }), in: NEVER },
  { check: 'procMount', spec: { ...one({ procMount: 'Unmasked' }), hostUsers: false }, in: [0, 34] },
  { check: 'procMount', spec: { ...one({ procMount: 'Unmasked' }), hostUsers: true }, in: ALWAYS },
  {
    check: 'seLinuxOptions',
    spec: {
      securityContext: { seLinuxOptions: { role: 'r' } },
      containers: [
        container({ securityContext: { seLinuxOptions: { type: 't', user: 'u' } } }),
        { name: 'd' },
      ],
    },
    in: ALWAYS,
    says: 'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "t"; user may not be set; role may not be set)',
    at: 'spec.securityContext.seLinuxOptions.role',
  },
  { check: 'seLinuxOptions', spec: one({ seLinuxOptions: { type: 'container_kvm_t' } }), in: NEVER },
  { check: 'seLinuxOptions', spec: one({ seLinuxOptions: { type: 'container_engine_t' } }), in: [0, 30] },
  {
    check: 'seccompProfile_baseline',
    spec: one({ seccompProfile: { type: 'Unconfined' } }),
    in: [19, NEWEST_MINOR],
    says: 'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
    at: `${C}.securityContext.seccompProfile.type`,
  },
  { check: 'seccompProfile_baseline', spec: one({ seccompProfile: { type: 'Localhost' } }), in: NEVER },
  {
    check: 'seccompProfile_baseline',
    spec: { containers: [container()] },
    annotations: { [`container.${SECCOMP}/c`]: 'x', [`${SECCOMP}/pod`]: '', [`container.${SECCOMP}/d`]: 'x' },
    in: [0, 18],
    says: `seccompProfile (forbidden annotations container.${SECCOMP}/c="x", ${SECCOMP}/pod="")`,
    at: `metadata.annotations[container.${SECCOMP}/c]`,
  },
  {
    check: 'seccompProfile_baseline',
    spec: {},
    annotations: { [`${SECCOMP}/pod`]: 'docker/default' },
    in: NEVER,
  },
  {
    check: 'sysctls',
    spec: { securityContext: { sysctls: [{ name: 'kernel.msgmax' }, { name: 'kernel.shm_rmid_forced' }] } },
    in: ALWAYS,
    says: 'forbidden sysctls (kernel.msgmax)',
    at: 'spec.securityContext.sysctls[0].name',
  },
  ...(
    [
      ['net.ipv4.ip_unprivileged_port_start', NEVER],
      ['net.ipv4.ip_local_reserved_ports', [0, 26]],
      ['net.ipv4.tcp_keepalive_time', [0, 28]],
      ['net.ipv4.tcp_rmem', [0, 31]],
    ] as const
  ).map(([name, versions]) => ({
    check: 'sysctls',
    spec: { securityContext: { sysctls: [{ name }] } },
    in: versions,
  })),
  {
    check: 'windowsHostProcess',
    spec: {
      os: { name: 'windows' },
      securityContext: { windowsOptions: { hostProcess: true } },
      ...one({ windowsOptions: { hostProcess: true } }),
    },
    in: ALWAYS,
    says: 'hostProcess (pod and container "c" must not set securityContext.windowsOptions.hostProcess=true)',
    at: 'spec.securityContext.windowsOptions.hostProcess',
  },
  { check: 'windowsHostProcess', spec: one({ windowsOptions: { hostProcess: false } }), in: NEVER },
];

for (const testCase of BASELINE)
  t.test(`baseline: ${testCase.check} of ${JSON.stringify(testCase.spec)}`, async (t) => {
    testCheck(t, 'baseline', testCase);
  });

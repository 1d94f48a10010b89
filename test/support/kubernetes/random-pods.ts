/**
 * Random pods that mostly pass the validation of an API server. Each check of the Pod Security Standards is
 * often violated and often met.
 */
import fc, { type Arbitrary } from 'fast-check';
import { parse } from 'yaml';

type Fields = Readonly<Record<string, unknown>>;

/** `usual` has the same weight as all others together. */
function mostly<T>(usual: T, ...others: T[]): Arbitrary<T> {
  return fc.oneof(
    { weight: others.length, arbitrary: fc.constant(usual) },
    { weight: others.length, arbitrary: fc.constantFrom(...others) },
  );
}

/** Fields that are undefined are not sent. */
const capabilities = fc.record({
  add: mostly<readonly string[] | undefined>(
    undefined,
    ['NET_BIND_SERVICE'],
    ['CHOWN', 'NET_BIND_SERVICE'],
    ['SYS_ADMIN', 'NET_RAW', 'KILL'],
    [],
  ),
  drop: mostly<readonly string[] | undefined>(['ALL'], undefined, ['KILL'], ['KILL', 'ALL']),
});
const seLinuxOptions = fc.record({
  type: mostly<string | undefined>(undefined, 'container_t', 'container_engine_t', 'spc_t'),
  user: mostly<string | undefined>(undefined, 'sys"adm'),
  role: mostly<string | undefined>(undefined, 'sysadm_r'),
});
/** The properties on which valid values of fields depend. */
interface Shape {
  readonly network: 'own' | 'host' | 'user-namespace';
  /** How profiles are set: annotations and fields must agree. */
  readonly annotations: 'none' | 'seccomp' | 'apparmor';
}

const profile = mostly<Fields | undefined>(
  { type: 'RuntimeDefault' },
  undefined,
  { type: 'Unconfined' },
  { type: 'Localhost', localhostProfile: 'a/b' },
);
const nothing = fc.constant(undefined);
const shared = ({ annotations }: Shape) => ({
  runAsNonRoot: mostly<boolean | undefined>(true, undefined, false),
  runAsUser: mostly<number | undefined>(undefined, 0, 1000),
  seccompProfile: annotations === 'seccomp' ? nothing : profile,
  appArmorProfile: annotations === 'apparmor' ? nothing : profile,
  seLinuxOptions: fc.option(seLinuxOptions, { nil: undefined, freq: 2 }),
});
const containerContext = (shape: Shape) =>
  fc
    .record({
      ...shared(shape),
      allowPrivilegeEscalation: mostly<boolean | undefined>(false, undefined, true),
      privileged: mostly<boolean | undefined>(undefined, undefined, true, false),
      procMount:
        shape.network === 'user-namespace'
          ? mostly<string | undefined>(undefined, 'Default', 'Unmasked')
          : mostly<string | undefined>(undefined, 'Default'),
      capabilities: fc.option(capabilities, { nil: undefined, freq: 5 }),
    })
    .map((context) =>
      context.privileged === true ? { ...context, allowPrivilegeEscalation: undefined } : context,
    );
const sysctls = mostly<readonly Fields[] | undefined>(
  undefined,
  [{ name: 'net.ipv4.tcp_syncookies', value: '1' }],
  [{ name: 'net.ipv4.ip_local_reserved_ports', value: '1' }],
  [{ name: 'net.ipv4.tcp_keepalive_time', value: '1' }],
  [
    { name: 'net.ipv4.tcp_rmem', value: '1' },
    { name: 'net.core.somaxconn', value: '1' },
  ],
);
const podContext = (shape: Shape) =>
  fc.record({ ...shared(shape), sysctls: shape.network === 'host' ? nothing : sysctls });

const handler = fc.oneof(
  fc.record({
    httpGet: fc.record({
      port: fc.constant(80),
      host: mostly<string | undefined>(undefined, '10.0.0.1', 'b'),
    }),
  }),
  fc.record({
    tcpSocket: fc.record({ port: fc.constant(80), host: mostly<string | undefined>(undefined, 'a') }),
  }),
);
const maybeHandler = fc.option(handler, { nil: undefined, freq: 2 });
const ports = ({ network }: Shape) =>
  mostly<readonly Fields[] | undefined>(
    undefined,
    [{ containerPort: 80 }],
    [{ containerPort: 80, hostPort: network === 'host' ? 80 : 8080 }],
    [
      { containerPort: 80, hostPort: 80 },
      { containerPort: 9000, hostPort: 9000, protocol: 'UDP' },
    ],
  );

const image = { image: 'registry.example/a' };
const container = (shape: Shape) =>
  fc.record({
    securityContext: fc.option(containerContext(shape), { nil: undefined, freq: 5 }),
    livenessProbe: maybeHandler,
    startupProbe: maybeHandler,
    lifecycle: fc.option(fc.record({ preStop: handler, postStart: maybeHandler }), {
      nil: undefined,
      freq: 2,
    }),
  });
/** An init container; some are sidecars. */
const initContainer = (shape: Shape) =>
  fc.record({
    securityContext: fc.option(containerContext(shape), { nil: undefined, freq: 5 }),
    restartPolicy: mostly<string | undefined>(undefined, 'Always'),
  });

function named(prefix: string, each: Arbitrary<Fields>, minLength: number): Arbitrary<Fields[]> {
  return fc
    .array(each, { minLength, maxLength: 2 })
    .map((all) => all.map((one, at) => ({ name: `${prefix}${at}`, ...image, ...one })));
}

/** One container has ports, which must differ between containers. */
function containersOf(shape: Shape): Arbitrary<Fields[]> {
  return fc
    .tuple(named('c', container(shape), 1), ports(shape))
    .map(([all, ports]) => all.map((one, at) => (at === 0 ? { ...one, ports } : one)));
}

const SOURCES: readonly Fields[] = parse(`
  - {emptyDir: {}}
  - {emptyDir: {}}
  - {configMap: {name: a}}
  - {secret: {secretName: a}}
  - {projected: {sources: [{configMap: {name: a}}]}}
  - {downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}
  - {csi: {driver: csi.example}}
  - {persistentVolumeClaim: {claimName: a}}
  - ephemeral:
      volumeClaimTemplate:
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  - {hostPath: {path: /}}
  - {hostPath: {path: /var}}
  - {nfs: {server: a, path: /}}
  - {iscsi: {targetPortal: a, iqn: iqn.2026-11.example:a, lun: 0}}
  - {flexVolume: {driver: a/b}}
  - {gitRepo: {repository: a}}
  - {azureFile: {secretName: a, shareName: b}}
  - {rbd: {monitors: [a], image: b}}`);
const volumes = fc
  .array(fc.constantFrom(...SOURCES), { maxLength: 3 })
  .map((all) => all.map((source, at) => ({ name: `v${at}`, ...source })));

const SECCOMP = 'seccomp.security.alpha.kubernetes.io';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io';
const ANNOTATIONS: Readonly<Record<Shape['annotations'], Arbitrary<Fields>>> = {
  none: fc.constant({}),
  seccomp: fc.constantFrom<Fields>(
    { [`${SECCOMP}/pod`]: 'unconfined' },
    { [`${SECCOMP}/pod`]: 'runtime/default', [`container.${SECCOMP}/c0`]: 'unconfined' },
    { [`${SECCOMP}/pod`]: 'docker/default' },
    { [`container.${SECCOMP}/i0`]: 'localhost/a', [`container.${SECCOMP}/other`]: 'unconfined' },
    { [`container.${SECCOMP}/i0`]: 'unconfined', [`container.${SECCOMP}/c1`]: 'unconfined' },
  ),
  apparmor: fc.constantFrom<Fields>(
    { [`${APP_ARMOR}/c0`]: 'unconfined' },
    { [`${APP_ARMOR}/c0`]: 'runtime/default' },
  ),
};

const shape: Arbitrary<Shape> = fc.record({
  network: mostly<Shape['network']>('own', 'host', 'user-namespace'),
  annotations: mostly<Shape['annotations']>('none', 'seccomp', 'apparmor'),
});

/** A pod with random values of all settings. */
const linuxPod = shape.chain((shape) =>
  fc.record({
    annotations: ANNOTATIONS[shape.annotations],
    containers: containersOf(shape),
    initContainers: named('i', initContainer(shape), 0),
    volumes,
    securityContext: fc.option(podContext(shape), { nil: undefined, freq: 5 }),
    hostNetwork: fc.constant(shape.network === 'host' || undefined),
    hostPID:
      shape.network === 'user-namespace' ? nothing : mostly<boolean | undefined>(undefined, true, false),
    hostIPC: shape.network === 'user-namespace' ? nothing : mostly<boolean | undefined>(undefined, true),
    hostUsers:
      shape.network === 'user-namespace' ? fc.constant(false) : mostly<true | undefined>(undefined, true),
    os: mostly<Fields | undefined>(undefined, { name: 'linux' }),
  }),
);

const windowsPod = fc.boolean().chain((hostProcess) => {
  const windowsOptions = fc.constant(hostProcess ? { hostProcess } : undefined);
  const context = fc.record({
    runAsNonRoot: mostly<boolean | undefined>(true, undefined, false),
    windowsOptions,
  });
  return fc.record({
    annotations: fc.constant({}),
    containers: named('c', fc.record({ securityContext: context }), 1),
    volumes,
    securityContext: context,
    hostNetwork: fc.constant(hostProcess || undefined),
    os: fc.constant({ name: 'windows' }),
  });
});

/** A pod that often meets the restricted standard, or violates it with a single setting. */
const nearlyRestricted = fc.record({
  annotations: fc.constant({}),
  containers: named(
    'c',
    fc.record({
      securityContext: fc.record({
        allowPrivilegeEscalation: mostly<boolean | undefined>(false, false, false, undefined),
        capabilities: mostly<Fields>({ drop: ['ALL'] }, { drop: ['ALL'], add: ['NET_BIND_SERVICE'] }, {}),
        procMount: mostly<string | undefined>(undefined, 'Default'),
      }),
    }),
    1,
  ),
  volumes: fc.constantFrom([{ name: 'v', emptyDir: {} }], [{ name: 'v', hostPath: { path: '/' } }], []),
  securityContext: fc.record({
    runAsNonRoot: mostly<boolean | undefined>(true, undefined),
    runAsUser: mostly<number | undefined>(1000, undefined, 0),
    seccompProfile: mostly<Fields | undefined>({ type: 'RuntimeDefault' }, undefined),
  }),
  hostUsers: mostly<boolean | undefined>(undefined, false),
});

/** A pod as JSON, without undefined fields. */
export const randomPod: Arbitrary<Fields> = fc
  .oneof(
    { weight: 6, arbitrary: linuxPod },
    { weight: 4, arbitrary: nearlyRestricted },
    { weight: 1, arbitrary: windowsPod },
  )
  .map(({ annotations, ...spec }) =>
    JSON.parse(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', annotations }, spec })),
  );

/** In which versions of the Pod Security Standards each check forbids a field. */
import t from 'tap';
import { podPartOf } from '../../../../src/features/admission/pod-part.ts';
import { podSecurityViolations } from '../../../../src/features/admission/pod-security.ts';
import { newViolations } from '../../../../src/features/admission/violation.ts';
import { NEWEST_POD_SECURITY_MINOR } from '../../../../src/kubernetes/admission-v1.ts';

type Fields = Readonly<Record<string, unknown>>;
type Level = 'privileged' | 'baseline' | 'restricted';

const C = 'spec.containers[0]';
const CONTEXT = `${C}.securityContext`;

function violationsOf(object: unknown, level: Level, minor = NEWEST_POD_SECURITY_MINOR) {
  const part = podPartOf('', 'pods', object);
  if (part === undefined) throw new TypeError('no pod');
  return podSecurityViolations(part, { level, version: `v1.${minor}`, mode: 'enforce' });
}

const one = (securityContext: Fields) => ({ containers: [{ name: 'c', securityContext }] });
const inContainer = (fields: Fields) => ({ containers: [{ name: 'c', ...fields }] });
const capabilities = (fields: Fields) => one({ capabilities: fields });
const sysctl = (name: string) => ({ securityContext: { sysctls: [{ name }] } });
const windows = { os: { name: 'windows' } };
const inUserNamespace = { hostUsers: false };
const unmasked = one({ procMount: 'Unmasked' });
/** Everything that the restricted standard requires. */
const secured = one({
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
});
const SECCOMP = 'seccomp.security.alpha.kubernetes.io';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/c';
const annotated = (annotations: Fields) => ({ metadata: { annotations }, ...inContainer({}) });

/** Check, pod and field; the first and last version that forbid the field, every version by default. */
type Case = readonly [check: string, spec: Fields, at: string, since?: number, last?: number];

const BASELINE: readonly Case[] = [
  ['appArmorProfile', one({ appArmorProfile: {} }), `${CONTEXT}.appArmorProfile.type`],
  ['appArmorProfile', annotated({ [APP_ARMOR]: 'x' }), `metadata.annotations[${APP_ARMOR}]`],
  ['capabilities_baseline', capabilities({ add: ['CHOWN', 'BPF'] }), `${CONTEXT}.capabilities.add[1]`],
  ['hostNamespaces', { hostIPC: true }, 'spec.hostIPC'],
  ['hostPathVolumes', { volumes: [{}, { hostPath: 'x' }] }, 'spec.volumes[1].hostPath'],
  ['hostPorts', inContainer({ ports: [{ hostPort: 0 }, { hostPort: 9 }] }), `${C}.ports[1].hostPort`],
  [
    'hostProbesAndHostLifecycle',
    inContainer({ livenessProbe: { httpGet: { host: 'h' } } }),
    `${C}.livenessProbe.httpGet.host`,
    34,
  ],
  ['privileged', one({ privileged: true }), `${CONTEXT}.privileged`],
  ['procMount', unmasked, `${CONTEXT}.procMount`],
  ['procMount', { ...unmasked, ...inUserNamespace }, `${CONTEXT}.procMount`, 0, 34],
  ['seLinuxOptions', one({ seLinuxOptions: { user: 'x' } }), `${CONTEXT}.seLinuxOptions.user`],
  [
    'seLinuxOptions',
    one({ seLinuxOptions: { type: 'container_engine_t' } }),
    `${CONTEXT}.seLinuxOptions.type`,
    0,
    30,
  ],
  [
    'seccompProfile_baseline',
    one({ seccompProfile: { type: 'Unconfined' } }),
    `${CONTEXT}.seccompProfile.type`,
    19,
  ],
  ...[`container.${SECCOMP}/c`, `${SECCOMP}/pod`].map((key): Case => {
    const pod = annotated({ [key]: 'x', [`container.${SECCOMP}/other`]: 'x' });
    return ['seccompProfile_baseline', pod, `metadata.annotations[${key}]`, 0, 18];
  }),
  ...(
    [
      ['kernel.msgmax', undefined],
      ['net.ipv4.ip_local_reserved_ports', 26],
      ['net.ipv4.tcp_keepalive_time', 28],
      ['net.ipv4.tcp_rmem', 31],
    ] as const
  ).map(
    ([name, last]): Case => [
      'sysctls',
      sysctl(name),
      'spec.securityContext.sysctls[0].name',
      0,
      last ?? NEWEST_POD_SECURITY_MINOR,
    ],
  ),
  [
    'windowsHostProcess',
    { securityContext: { windowsOptions: { hostProcess: true } } },
    'spec.securityContext.windowsOptions.hostProcess',
  ],
];

const RESTRICTED: readonly Case[] = [
  ['allowPrivilegeEscalation', one({}), `${CONTEXT}.allowPrivilegeEscalation`, 8],
  ['allowPrivilegeEscalation', { ...one({}), ...windows }, `${CONTEXT}.allowPrivilegeEscalation`, 8, 24],
  ['capabilities_restricted', capabilities({ drop: ['all'] }), `${CONTEXT}.capabilities.drop`, 22],
  [
    'capabilities_restricted',
    capabilities({ drop: ['ALL'], add: ['KILL'] }),
    `${CONTEXT}.capabilities.add[0]`,
    22,
  ],
  ['capabilities_restricted', { ...one({}), ...windows }, `${CONTEXT}.capabilities.drop`, 22, 24],
  ['capabilities_baseline', capabilities({ add: ['BPF'] }), `${CONTEXT}.capabilities.add[0]`, 0, 21],
  ['procMount_restricted', { ...unmasked, ...inUserNamespace }, `${CONTEXT}.procMount`, 35],
  ['procMount', unmasked, `${CONTEXT}.procMount`, 0, 34],
  ['restrictedVolumes', { volumes: [{ nfs: {} }] }, 'spec.volumes[0].nfs'],
  ['restrictedVolumes', { volumes: [{ image: {}, hostPath: {} }] }, 'spec.volumes[0].hostPath'],
  ['restrictedVolumes', { volumes: [null] }, 'spec.volumes[0]'],
  ['runAsNonRoot', inContainer({}), `${CONTEXT}.runAsNonRoot`],
  [
    'runAsNonRoot',
    { ...secured, securityContext: { runAsNonRoot: false } },
    'spec.securityContext.runAsNonRoot',
  ],
  ['runAsNonRoot', { ...inContainer({}), ...inUserNamespace }, `${CONTEXT}.runAsNonRoot`, 0, 34],
  ['runAsUser', one({ runAsUser: 0 }), `${CONTEXT}.runAsUser`, 23],
  ['runAsUser', { ...one({ runAsUser: 0 }), ...inUserNamespace }, `${CONTEXT}.runAsUser`, 23, 34],
  ['seccompProfile_restricted', inContainer({}), `${CONTEXT}.seccompProfile.type`, 19],
  ['seccompProfile_restricted', { ...inContainer({}), ...windows }, `${CONTEXT}.seccompProfile.type`, 19, 24],
];

const MINORS = Array.from({ length: NEWEST_POD_SECURITY_MINOR + 1 }, (_, minor) => minor);

for (const [level, cases] of Object.entries({ baseline: BASELINE, restricted: RESTRICTED } as const))
  for (const [check, { metadata, ...spec }, at, since = 0, last = NEWEST_POD_SECURITY_MINOR] of cases)
    t.test(`${level}: ${check} at ${at}`, async (t) => {
      const pathsIn = (minor: number) =>
        violationsOf({ metadata, spec }, level === 'baseline' ? level : 'restricted', minor)
          .filter(({ rule }) => rule === check)
          .map(({ path }) => path);
      t.strictSame(
        MINORS.filter((minor) => pathsIn(minor).length > 0),
        MINORS.filter((minor) => since <= minor && minor <= last),
      );
      t.strictSame(pathsIn(since), [at]);
    });

t.test('a field of the wrong type is refused, as the API server could not decode it', async (t) => {
  const wrong: readonly [unknown, string][] = [
    [{ spec: { hostNetwork: 'true' } }, 'spec.hostNetwork must be a boolean'],
    [{ spec: one({ runAsUser: '0' }) }, `${CONTEXT}.runAsUser must be an integer`],
    [{ spec: { volumes: [{ emptyDir: 'x' }] } }, 'spec.volumes[0].emptyDir must be an object'],
    [{ metadata: { annotations: { a: 1 } } }, 'metadata.annotations[a] must be a string'],
  ];
  for (const [object, expected] of wrong)
    t.ok(
      violationsOf(object, 'restricted').some(({ message }) => message === expected),
      expected,
    );
});

t.test('inherited properties are not fields', async (t) => {
  const inherited = Object.create({ hostNetwork: true, containers: 7 });
  t.strictSame(violationsOf({ spec: inherited }, 'baseline'), []);
  const named: unknown = JSON.parse(
    '{"metadata":{"annotations":{"__proto__":"x"}},"spec":{"__proto__":{"hostPID":true},"constructor":1}}',
  );
  t.strictSame(violationsOf(named, 'baseline'), []);
});

t.test('an update is judged by what it changes', async (t) => {
  const paths = (level: Level, spec: unknown, old: unknown) =>
    newViolations((object) => violationsOf(object, level), { spec }, old).map(({ path }) => path);
  const privileged = { name: 'a', securityContext: { privileged: true } };
  const plain = { name: 'b' };
  const host = (path: string) => ({ volumes: [{ name: 'v', hostPath: { path, type: 'Directory' } }] });
  const both = { containers: [privileged, plain] };

  await t.test('a violation at the same field with the same value is not new', async (t) => {
    t.strictSame(paths('baseline', both, { spec: { containers: [privileged], hostPID: true } }), []);
    const reordered = { volumes: [{ hostPath: { type: 'Directory', path: '/a' }, name: 'v' }] };
    t.strictSame(paths('baseline', reordered, { spec: host('/a') }), []);
  });

  await t.test('a violation with another value, or at another field, is new', async (t) => {
    t.strictSame(paths('baseline', host('/'), { spec: host('/a') }), ['spec.volumes[0].hostPath']);
    t.strictSame(paths('baseline', { containers: [plain, privileged] }, { spec: both }), [
      'spec.containers[1].securityContext.privileged',
    ]);
    t.strictSame(
      paths(
        'restricted',
        { containers: [plain] },
        { spec: { securityContext: { runAsNonRoot: true }, containers: [plain] } },
      ),
      [`${CONTEXT}.runAsNonRoot`],
      'the pod’s setting made its containers acceptable',
    );
  });

  await t.test('an old object that cannot be read excuses nothing', async (t) => {
    for (const old of [null, [], 'x', 7, { spec: [] }])
      t.strictSame(paths('baseline', { hostPID: true }, old), ['spec.hostPID']);
  });
});

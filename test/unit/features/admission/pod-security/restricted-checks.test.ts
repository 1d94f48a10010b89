import t from 'tap';
import {
  ALWAYS,
  C,
  type CheckCase,
  container,
  type Fields,
  messageOf,
  NEVER,
  NEWEST_MINOR,
  one,
  testCheck,
} from '../../../../support/pod-security.ts';

/** Everything that the restricted standard requires. */
const secured = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};
const restricted = (spec: Fields = {}, context: Fields = {}) => ({
  containers: [container({ securityContext: { ...secured, ...context } })],
  ...spec,
});

const windows = { os: { name: 'windows' } };
const RESTRICTED: readonly CheckCase[] = [
  {
    check: 'allowPrivilegeEscalation',
    spec: one({}),
    in: [8, NEWEST_MINOR],
    says: 'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
    at: `${C}.securityContext.allowPrivilegeEscalation`,
  },
  { check: 'allowPrivilegeEscalation', spec: one({ allowPrivilegeEscalation: true }), in: [8, NEWEST_MINOR] },
  { check: 'allowPrivilegeEscalation', spec: restricted(), in: NEVER },
  { check: 'allowPrivilegeEscalation', spec: { ...one({}), ...windows }, in: [8, 24] },
  { check: 'allowPrivilegeEscalation', spec: { ...one({}), os: { name: 'linux' } }, in: [8, NEWEST_MINOR] },
  {
    check: 'capabilities_restricted',
    spec: {
      containers: [
        container(),
        { name: 'd', securityContext: { capabilities: { drop: ['ALL'], add: ['KILL'] } } },
      ],
    },
    in: [22, NEWEST_MINOR],
    says: 'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; container "d" must not include "KILL" in securityContext.capabilities.add)',
    at: `${C}.securityContext.capabilities.drop`,
  },
  {
    check: 'capabilities_restricted',
    spec: one({ capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }),
    in: NEVER,
  },
  {
    check: 'capabilities_restricted',
    spec: one({ capabilities: { drop: ['all'] } }),
    in: [22, NEWEST_MINOR],
  },
  { check: 'capabilities_restricted', spec: { ...one({}), ...windows }, in: [22, 24] },
  { check: 'capabilities_baseline', spec: one({ capabilities: { add: ['SYS_ADMIN'] } }), in: [0, 21] },
  {
    check: 'procMount_restricted',
    spec: { ...one({ procMount: 'Unmasked' }), hostUsers: false },
    in: [35, NEWEST_MINOR],
    at: `${C}.securityContext.procMount`,
  },
  { check: 'procMount', spec: { ...one({ procMount: 'Unmasked' }), hostUsers: false }, in: [0, 34] },
  ...[
    'configMap',
    'csi',
    'downwardAPI',
    'emptyDir',
    'ephemeral',
    'image',
    'persistentVolumeClaim',
    'projected',
    'secret',
  ].map((source) => ({
    check: 'restrictedVolumes',
    spec: { volumes: [{ name: 'v', [source]: {} }] },
    in: NEVER,
  })),
  {
    check: 'restrictedVolumes',
    spec: {
      volumes: [
        { name: 'v', nfs: {} },
        { name: 'w', hostPath: {} },
        { name: 'x', toString: {} },
      ],
    },
    in: ALWAYS,
    says: 'restricted volume types (volumes "v", "w", "x" use restricted volume types "hostPath", "nfs", "unknown")',
    at: 'spec.volumes[0].nfs',
  },
  { check: 'restrictedVolumes', spec: { volumes: [null] }, in: ALWAYS, at: 'spec.volumes[0]' },
  { check: 'hostPathVolumes', spec: { volumes: [{ name: 'v', hostPath: {} }] }, in: NEVER },
  {
    check: 'runAsNonRoot',
    spec: { containers: [container(), { name: 'd' }] },
    in: ALWAYS,
    says: 'runAsNonRoot != true (pod or containers "c", "d" must set securityContext.runAsNonRoot=true)',
    at: `${C}.securityContext.runAsNonRoot`,
  },
  {
    check: 'runAsNonRoot',
    spec: {
      securityContext: { runAsNonRoot: false },
      containers: [container({ securityContext: secured }), { name: 'd' }],
    },
    in: ALWAYS,
    says: 'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
    at: 'spec.securityContext.runAsNonRoot',
  },
  {
    check: 'runAsNonRoot',
    spec: { securityContext: { runAsNonRoot: true }, containers: [container()] },
    in: NEVER,
  },
  { check: 'runAsNonRoot', spec: { containers: [container()], hostUsers: false }, in: [0, 34] },
  {
    check: 'runAsUser',
    spec: {
      securityContext: { runAsUser: 0 },
      containers: [container({ securityContext: { runAsUser: 0 } })],
    },
    in: [23, NEWEST_MINOR],
    says: 'runAsUser=0 (pod and container "c" must not set runAsUser=0)',
    at: 'spec.securityContext.runAsUser',
  },
  { check: 'runAsUser', spec: restricted({}, { runAsUser: 1 }), in: NEVER },
  { check: 'runAsUser', spec: { ...one({ runAsUser: 0 }), hostUsers: false }, in: [23, 34] },
  {
    check: 'seccompProfile_restricted',
    spec: { containers: [container()] },
    in: [19, NEWEST_MINOR],
    says: 'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    at: `${C}.securityContext.seccompProfile.type`,
  },
  {
    check: 'seccompProfile_restricted',
    spec: { securityContext: { seccompProfile: { type: 'Unconfined' } }, containers: [container()] },
    in: [19, NEWEST_MINOR],
    says: 'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
  },
  {
    check: 'seccompProfile_restricted',
    spec: { securityContext: { seccompProfile: { type: 'Localhost' } }, containers: [container()] },
    in: NEVER,
  },
  { check: 'seccompProfile_restricted', spec: { containers: [container()], ...windows }, in: [19, 24] },
  { check: 'seccompProfile_baseline', spec: one({ seccompProfile: { type: 'x' } }), in: NEVER },
];

for (const testCase of RESTRICTED)
  t.test(`restricted: ${testCase.check} of ${JSON.stringify(testCase.spec)}`, async (t) => {
    testCheck(t, 'restricted', testCase);
  });

t.test('a pod with every required setting is restricted in every version', async (t) => {
  for (let minor = 0; minor <= NEWEST_MINOR; minor += 1)
    t.equal(messageOf({ spec: restricted() }, 'restricted', `v1.${minor}`), '');
});

t.test('a volume that has an allowed source beside a host path is refused', async (t) => {
  const volumes = [{ name: 'v', image: {}, hostPath: { path: '/' } }];
  t.match(messageOf({ spec: { volumes } }, 'restricted', 'latest'), /"hostPath"/);
});

/** In which versions of the Pod Security Standards each check forbids a field. */
import t from 'tap';
import { parse } from 'yaml';
import { podPartOf } from '../../../../src/features/admission/pod-part.ts';
import { podSecurityViolations } from '../../../../src/features/admission/pod-security.ts';
import { newViolations } from '../../../../src/features/admission/violation.ts';
import { NEWEST_POD_SECURITY_MINOR } from '../../../../src/kubernetes/admission-v1.ts';
import { eachRow } from '../../../support/rows.ts';

type Level = 'privileged' | 'baseline' | 'restricted';

const C = 'spec.containers[0]';
const CONTEXT = `${C}.securityContext`;

function violationsOf(object: unknown, level: Level, minor = NEWEST_POD_SECURITY_MINOR) {
  const part = podPartOf('', 'pods', object);
  if (part === undefined) throw new TypeError('no pod');
  return podSecurityViolations(part, { level, version: `v1.${minor}`, mode: 'enforce' });
}

const SECCOMP = 'seccomp.security.alpha.kubernetes.io';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/c';
const SECURED = `{allowPrivilegeEscalation: false, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]},
  runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}`.replaceAll('\n', '');

/** The path of a place in a pod, and a pod that has fields there. */
const PLACES: Readonly<Record<string, readonly [path: string, podWith: (fields: string) => string]>> = {
  context: [CONTEXT, (fields) => `{spec: {containers: [{name: c, securityContext: ${fields}}]}}`],
  container: [C, (fields) => `{spec: {containers: [${fields}]}}`],
  pod: ['spec', (fields) => `{spec: ${fields}}`],
  metadata: ['metadata', (fields) => `{metadata: ${fields}, spec: {containers: [{name: c}]}}`],
};

const MINORS = Array.from({ length: NEWEST_POD_SECURITY_MINOR + 1 }, (_, minor) => minor);

/** Level, check, place, fields there, the forbidden one; since and until which version; other fields. */
await eachRow(
  `
  baseline | appArmorProfile | context | {appArmorProfile: {}} | appArmorProfile.type
  baseline | appArmorProfile | metadata | {annotations: {${APP_ARMOR}: x}} | annotations[${APP_ARMOR}]
  baseline | capabilities_baseline | context | {capabilities: {add: [CHOWN, BPF]}} | capabilities.add[1]
  baseline | hostNamespaces | pod | {hostIPC: true} | hostIPC
  baseline | hostPathVolumes | pod | {volumes: [{}, {hostPath: x}]} | volumes[1].hostPath
  baseline | hostPorts | container | {ports: [{hostPort: 0}, {hostPort: 9}]} | ports[1].hostPort
  baseline | hostProbesAndHostLifecycle | container | {livenessProbe: {httpGet: {host: h}}} | livenessProbe.httpGet.host | 34
  baseline | privileged | context | {privileged: true} | privileged
  baseline | procMount | context | {procMount: Unmasked} | procMount
  baseline | procMount | context | {procMount: Unmasked} | procMount | 0 | 34 | {hostUsers: false}
  baseline | seLinuxOptions | context | {seLinuxOptions: {user: x}} | seLinuxOptions.user
  baseline | seLinuxOptions | context | {seLinuxOptions: {type: container_engine_t}} | seLinuxOptions.type | 0 | 30
  baseline | seccompProfile_baseline | context | {seccompProfile: {type: Unconfined}} | seccompProfile.type | 19
  baseline | seccompProfile_baseline | metadata | {annotations: {container.${SECCOMP}/c: x, container.${SECCOMP}/other: x}} | annotations[container.${SECCOMP}/c] | 0 | 18
  baseline | seccompProfile_baseline | metadata | {annotations: {${SECCOMP}/pod: x, container.${SECCOMP}/other: x}} | annotations[${SECCOMP}/pod] | 0 | 18
  baseline | sysctls | pod | {securityContext: {sysctls: [{name: kernel.msgmax}]}} | securityContext.sysctls[0].name
  baseline | sysctls | pod | {securityContext: {sysctls: [{name: net.ipv4.ip_local_reserved_ports}]}} | securityContext.sysctls[0].name | 0 | 26
  baseline | sysctls | pod | {securityContext: {sysctls: [{name: net.ipv4.tcp_keepalive_time}]}} | securityContext.sysctls[0].name | 0 | 28
  baseline | sysctls | pod | {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem}]}} | securityContext.sysctls[0].name | 0 | 31
  baseline | windowsHostProcess | pod | {securityContext: {windowsOptions: {hostProcess: true}}} | securityContext.windowsOptions.hostProcess
  restricted | allowPrivilegeEscalation | context | {} | allowPrivilegeEscalation | 8
  restricted | allowPrivilegeEscalation | context | {} | allowPrivilegeEscalation | 8 | 24 | {os: {name: windows}}
  restricted | capabilities_restricted | context | {capabilities: {drop: [all]}} | capabilities.drop | 22
  restricted | capabilities_restricted | context | {capabilities: {drop: [ALL], add: [KILL]}} | capabilities.add[0] | 22
  restricted | capabilities_restricted | context | {} | capabilities.drop | 22 | 24 | {os: {name: windows}}
  restricted | capabilities_baseline | context | {capabilities: {add: [BPF]}} | capabilities.add[0] | 0 | 21
  restricted | procMount_restricted | context | {procMount: Unmasked} | procMount | 35 | | {hostUsers: false}
  restricted | procMount | context | {procMount: Unmasked} | procMount | 0 | 34
  restricted | restrictedVolumes | pod | {volumes: [{nfs: {}}]} | volumes[0].nfs
  restricted | restrictedVolumes | pod | {volumes: [{image: {}, hostPath: {}}]} | volumes[0].hostPath
  restricted | restrictedVolumes | pod | {volumes: [null]} | volumes[0]
  restricted | runAsNonRoot | container | {name: c} | securityContext.runAsNonRoot
  restricted | runAsNonRoot | pod | {containers: [{securityContext: ${SECURED}}], securityContext: {runAsNonRoot: false}} | securityContext.runAsNonRoot
  restricted | runAsNonRoot | container | {name: c} | securityContext.runAsNonRoot | 0 | 34 | {hostUsers: false}
  restricted | runAsUser | context | {runAsUser: 0} | runAsUser | 23
  restricted | runAsUser | context | {runAsUser: 0} | runAsUser | 23 | 34 | {hostUsers: false}
  restricted | seccompProfile_restricted | container | {name: c} | securityContext.seccompProfile.type | 19
  restricted | seccompProfile_restricted | container | {name: c} | securityContext.seccompProfile.type | 19 | 24 | {os: {name: windows}}`,
  (level, check, place, fields, field, since = '0', until = '', more = '{}') =>
    t.test(`the ${level} level refuses ${fields} in a ${place} by ${check}, beside ${more}`, async (t) => {
      const [path, podWith] = PLACES[place] ?? ['', String];
      const pod = parse(podWith(fields));
      Object.assign(pod.spec, parse(more));
      const pathsIn = (minor: number) =>
        violationsOf(pod, level === 'baseline' ? level : 'restricted', minor)
          .filter(({ rule }) => rule === check)
          .map((violation) => violation.path);
      t.strictSame(
        MINORS.filter((minor) => pathsIn(minor).length > 0),
        MINORS.filter(
          (minor) => Number(since) <= minor && minor <= Number(until || NEWEST_POD_SECURITY_MINOR),
        ),
      );
      t.strictSame(pathsIn(Number(since)), [`${path}.${field}`]);
    }),
);

t.test('a field of the wrong type is refused, as the API server could not decode it', async (t) => {
  await eachRow(
    `
    {spec: {hostNetwork: 'true'}} | spec.hostNetwork must be a boolean
    {spec: {containers: [{name: c, securityContext: {runAsUser: '0'}}]}} | ${CONTEXT}.runAsUser must be an integer
    {spec: {volumes: [{emptyDir: x}]}} | spec.volumes[0].emptyDir must be an object
    {metadata: {annotations: {a: 1}}} | metadata.annotations[a] must be a string`,
    (pod, expected) =>
      t.ok(
        violationsOf(parse(pod), 'restricted').some(({ message }) => message === expected),
        expected,
      ),
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
  const paths = (level: Level, pod: string, old: string) =>
    newViolations((object) => violationsOf(object, level), parse(pod), parse(old)).map(({ path }) => path);
  const PRIVILEGED = '{name: a, securityContext: {privileged: true}}';
  const BOTH = `{spec: {containers: [${PRIVILEGED}, {name: b}]}}`;
  const hostPath = (path: string) =>
    `{spec: {volumes: [{name: v, hostPath: {path: ${path}, type: Directory}}]}}`;

  await t.test('a violation at the same field with the same value is not new', async (t) => {
    t.strictSame(paths('baseline', BOTH, `{spec: {containers: [${PRIVILEGED}], hostPID: true}}`), []);
    const reordered = '{spec: {volumes: [{hostPath: {type: Directory, path: /a}, name: v}]}}';
    t.strictSame(paths('baseline', reordered, hostPath('/a')), []);
  });

  await t.test('a violation with another value, or at another field, is new', async (t) => {
    t.strictSame(paths('baseline', hostPath('/'), hostPath('/a')), ['spec.volumes[0].hostPath']);
    const swapped = `{spec: {containers: [{name: b}, ${PRIVILEGED}]}}`;
    t.strictSame(paths('baseline', swapped, BOTH), ['spec.containers[1].securityContext.privileged']);
    const plain = '{spec: {containers: [{name: b}]}}';
    t.strictSame(
      paths('restricted', plain, '{spec: {securityContext: {runAsNonRoot: true}, containers: [{name: b}]}}'),
      [`${CONTEXT}.runAsNonRoot`],
      'the pod’s setting made its containers acceptable',
    );
  });

  await t.test('an old object that cannot be read excuses nothing', async (t) => {
    for (const old of ['null', '[]', 'x', '7', '{spec: []}'])
      t.strictSame(paths('baseline', '{spec: {hostPID: true}}', old), ['spec.hostPID'], old);
  });
});

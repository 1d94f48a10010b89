import fc from 'fast-check';
import t from 'tap';
import { podSecurityVersion } from '../../../../../src/features/admission/pod-security/evaluate.ts';
import { C, messageOf, NEWEST_MINOR, one, violationsOf } from '../../../../support/pod-security.ts';

t.test('the privileged standard allows everything, also what cannot be read', async (t) => {
  const everything = { ...one({ privileged: true, runAsUser: 0 }), hostNetwork: 'yes', volumes: 7 };
  t.equal(messageOf({ spec: everything }, 'privileged', 'latest'), '');
});

t.test('violations are reported check by check, those of the baseline first', async (t) => {
  const pod = { spec: { ...one({ privileged: true, allowPrivilegeEscalation: true }), hostPID: true } };
  t.equal(
    messageOf(pod, 'restricted', 'v1.18'),
    [
      'host namespaces (hostPID=true)',
      'privileged (container "c" must not set securityContext.privileged=true)',
      'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
      'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    ].join(', '),
  );
});

t.test('every violation has its own line, with the path', async (t) => {
  t.strictSame(
    violationsOf({ spec: { hostPID: true } }, 'baseline', 'latest').map(({ message }) => message),
    ['spec.hostPID: refused by the check hostNamespaces of the Pod Security Standards'],
  );
});

t.test('values are sorted as Go sorts them', async (t) => {
  const add = ['\u{1f600}', '\uffee', 'b', 'B', 'b'];
  t.match(
    messageOf({ spec: one({ capabilities: { add } }) }, 'baseline', 'latest'),
    /must not include "B", "b", "\uffee", "\u{1f600}" in/u,
  );
});

t.test('only versions that are known can be named; latest is the newest', async (t) => {
  t.strictSame(podSecurityVersion('latest')?.minor, NEWEST_MINOR);
  t.strictSame(podSecurityVersion('v1.0')?.minor, 0);
  for (const name of ['', 'v1', 'v1.37', 'v1.100', 'v1.01', 'v2.0', '1.25', 'v1.25.0', 'Latest', 'v1.-1'])
    t.equal(podSecurityVersion(name), undefined, name);
});

t.test('a field of a wrong type is refused: the API server would not decode it', async (t) => {
  const wrong: readonly [unknown, string][] = [
    [{ spec: { hostNetwork: 'true' } }, 'spec.hostNetwork must be a boolean'],
    [{ spec: { hostUsers: 0 } }, 'spec.hostUsers must be a boolean'],
    [{ spec: { os: 'windows' } }, 'spec.os must be an object'],
    [{ spec: one({ privileged: 1 }) }, `${C}.securityContext.privileged must be a boolean`],
    [{ spec: one({ runAsUser: '0' }) }, `${C}.securityContext.runAsUser must be an integer`],
    [{ spec: one({ runAsUser: 0.5 }) }, `${C}.securityContext.runAsUser must be an integer`],
    [{ spec: one({ capabilities: { add: 'ALL' } }) }, `${C}.securityContext.capabilities.add must be a list`],
    [{ spec: { containers: {} } }, 'spec.containers must be a list'],
    [{ spec: { containers: [[]] } }, `${C} must be an object`],
    [{ spec: { containers: [{ name: {} }] } }, `${C}.name must be a string`],
    [{ spec: { volumes: [{ emptyDir: 'x' }] } }, 'spec.volumes[0].emptyDir must be an object'],
    [{ metadata: { annotations: { a: 1 } } }, 'metadata.annotations[a] must be a string'],
    [{ metadata: [], spec: {} }, 'metadata must be an object'],
    [{ spec: 'x' }, 'spec must be an object'],
    [[], 'the object must be an object'],
    [null, 'the object must be an object'],
  ];
  for (const [object, expected] of wrong) {
    const said = messageOf(object, 'restricted', 'latest');
    t.ok(said.startsWith(`malformed (${expected})`), said);
  }
});

t.test('inherited properties are no fields', async (t) => {
  const inherited = Object.create({ hostNetwork: true, containers: 7 });
  t.equal(messageOf({ spec: inherited }, 'baseline', 'latest'), '');
  const named: unknown = JSON.parse(
    '{"metadata":{"annotations":{"__proto__":"x"}},"spec":{"__proto__":{"hostPID":true},"constructor":1}}',
  );
  t.equal(messageOf(named, 'baseline', 'latest'), '');
});

t.test('any object is judged, and what it violates is in every stricter level', async () => {
  const key = fc.constantFrom(
    ...['metadata', 'annotations', 'spec', 'containers', 'initContainers', 'volumes', 'securityContext'],
    ...[
      'hostNetwork',
      'hostPath',
      'capabilities',
      'add',
      'ports',
      'hostPort',
      'name',
      '__proto__',
      'constructor',
    ],
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom<unknown>(null, true, 0, 1.5, '', 'x', '__proto__'),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(tree, fc.integer({ min: 0, max: NEWEST_MINOR }), (object, minor) => {
      const baseline = messageOf(object, 'baseline', `v1.${minor}`);
      return baseline === '' || messageOf(object, 'restricted', `v1.${minor}`) !== '';
    }),
    { numRuns: 500 },
  );
});

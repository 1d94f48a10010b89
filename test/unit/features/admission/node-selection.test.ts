import fc from 'fast-check';
import t from 'tap';
import { newViolations } from '../../../../src/features/admission/changed-fields.ts';
import {
  bindingViolations,
  isNodeBinding,
  nodeSelectionViolations,
} from '../../../../src/features/admission/node-selection.ts';
import { podPartOf } from '../../../../src/features/admission/pod-part.ts';
import type { Violation } from '../../../../src/features/admission/violation.ts';

const OPTIONS = { allowedLabels: ['example.com/pool'] };

function violationsOf(object: unknown, group = '', resource = 'pods'): Violation[] {
  const part = podPartOf(group, resource, object);
  return part === undefined ? [] : nodeSelectionViolations(part, OPTIONS);
}

const pathsOf = (spec: unknown): string[] => violationsOf({ spec }).map(({ path }) => path);

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';
const required = (...nodeSelectorTerms: unknown[]) => ({
  affinity: { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms } } },
});
const hostname = { key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] };
const ALLOWED = ['kubernetes.io/os', 'kubernetes.io/arch', 'example.com/pool'].map((key) => ({
  key,
  operator: 'In',
  values: ['a'],
}));

t.test('D236: a pod that names its node is refused', async (t) => {
  t.strictSame(violationsOf({ spec: { nodeName: 'n1' } }), [
    {
      rule: 'nodeName',
      path: 'spec.nodeName',
      value: 'n1',
      message: 'spec.nodeName: tenants may not choose a node',
    },
  ]);
  t.strictSame(pathsOf({ nodeName: '' }), []);
  t.strictSame(pathsOf({ nodeName: null }), []);
});

t.test('D236: a pod may select nodes by allowed labels only', async (t) => {
  const nodeSelector = Object.fromEntries(ALLOWED.map(({ key }) => [key, 'a']));
  t.strictSame(pathsOf({ nodeSelector }), []);
  t.strictSame(pathsOf({ nodeSelector: { ...nodeSelector, 'kubernetes.io/hostname': 'n1' } }), [
    'spec.nodeSelector[kubernetes.io/hostname]',
  ]);
  t.strictSame(pathsOf({ nodeSelector: JSON.parse('{"__proto__":"a","constructor":"b"}') }), [
    'spec.nodeSelector[__proto__]',
    'spec.nodeSelector[constructor]',
  ]);
});

t.test('D236: node affinity too, whether required or preferred', async (t) => {
  t.strictSame(pathsOf(required({ matchExpressions: ALLOWED })), []);
  t.strictSame(pathsOf(required({ matchExpressions: [...ALLOWED, hostname] })), [
    `spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms[0].matchExpressions[3].key`,
  ]);
  t.strictSame(pathsOf(required({}, { matchExpressions: [{ ...hostname, operator: 'NotIn' }] })), [
    `spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms[1].matchExpressions[0].key`,
  ]);
  t.strictSame(
    pathsOf(required({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] })),
    [`spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms[0].matchFields[0]`],
  );
  const preferred = [{ weight: 1, preference: { matchExpressions: [hostname] } }];
  t.strictSame(pathsOf({ affinity: { nodeAffinity: { [PREFERRED]: preferred } } }), [
    `spec.affinity.nodeAffinity.${PREFERRED}[0].preference.matchExpressions[0].key`,
  ]);
});

t.test('affinity between pods is no selection of nodes', async (t) => {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: {} };
  t.strictSame(pathsOf({ affinity: { podAntiAffinity: { [REQUIRED]: [term] } } }), []);
});

t.test('a toleration of every taint is refused; one of a named taint is not', async (t) => {
  t.strictSame(
    pathsOf({
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', tolerationSeconds: 300 },
        { operator: 'Exists' },
        { key: '', operator: 'Exists', effect: 'NoSchedule' },
        { key: 'a', value: 'b' },
        {},
        null,
      ],
    }),
    ['spec.tolerations[1]', 'spec.tolerations[2]', 'spec.tolerations[4]', 'spec.tolerations[5]'],
  );
});

t.test('priority classes of the system are refused', async (t) => {
  for (const name of ['system-node-critical', 'system-cluster-critical', 'system-other'])
    t.strictSame(pathsOf({ priorityClassName: name }), ['spec.priorityClassName'], name);
  for (const name of ['high', 'systemic', '']) t.strictSame(pathsOf({ priorityClassName: name }), [], name);
});

t.test('D236: templates are judged as pods are', async (t) => {
  const template = { spec: { nodeName: 'n1' } };
  const paths = (group: string, resource: string, object: unknown) =>
    violationsOf(object, group, resource).map(({ path }) => path);
  t.strictSame(paths('batch', 'jobs', { spec: { template } }), ['spec.template.spec.nodeName']);
  t.strictSame(paths('batch', 'cronjobs', { spec: { jobTemplate: { spec: { template } } } }), [
    'spec.jobTemplate.spec.template.spec.nodeName',
  ]);
  t.strictSame(paths('extensions', 'deployments', { spec: { template } }), ['spec.template.spec.nodeName']);
});

t.test('a field of a wrong type is refused', async (t) => {
  for (const [spec, path] of [
    [{ nodeName: ['n1'] }, 'spec.nodeName'],
    [{ nodeSelector: ['a'] }, 'spec.nodeSelector'],
    [{ nodeSelector: { 'kubernetes.io/os': 1 } }, 'spec.nodeSelector[kubernetes.io/os]'],
    [{ affinity: 'a' }, 'spec.affinity'],
    [{ affinity: { nodeAffinity: { [REQUIRED]: [] } } }, `spec.affinity.nodeAffinity.${REQUIRED}`],
    [{ tolerations: {} }, 'spec.tolerations'],
    [{ tolerations: [{ key: 1 }] }, 'spec.tolerations[0].key'],
    [{ priorityClassName: {} }, 'spec.priorityClassName'],
    ['x', 'spec'],
  ] as const)
    t.ok(pathsOf(spec).includes(path), `${path} of ${JSON.stringify(spec)}`);
});

t.test('an update is judged by the selections that it changes', async (t) => {
  const old = { spec: { nodeName: 'n1', ...required({ matchExpressions: [hostname] }) } };
  t.strictSame(newViolations(violationsOf, { ...old, metadata: { labels: { a: 'b' } } }, old), []);
  const changed = {
    spec: { nodeName: 'n2', ...required({ matchExpressions: [{ ...hostname, values: ['n2'] }] }) },
  };
  t.strictSame(
    newViolations(violationsOf, changed, old).map(({ rule }) => rule),
    ['nodeName', 'nodeAffinity'],
    'the values of an expression count too',
  );
});

t.test('a binding is refused whatever it says', async (t) => {
  t.ok(isNodeBinding('', 'pods', 'binding'));
  t.ok(isNodeBinding('', 'bindings', ''), 'in its older form');
  for (const [group, resource, subresource] of [
    ['', 'pods', ''],
    ['', 'pods', 'eviction'],
    ['rbac.authorization.k8s.io', 'bindings', ''],
  ] as const)
    t.notOk(isNodeBinding(group, resource, subresource));
  t.match(bindingViolations({ target: { kind: 'Node', name: 'n1' } }), [
    { rule: 'binding', path: 'target', message: 'target: tenants may not bind pods to nodes' },
  ]);
  for (const body of [{}, null, [], { target: 7 }])
    t.ok(bindingViolations(body).some(({ rule }) => rule === 'binding'));
});

t.test('any object can be judged', async () => {
  const key = fc.constantFrom(
    ...['spec', 'nodeName', 'nodeSelector', 'affinity', 'nodeAffinity', REQUIRED, PREFERRED],
    ...[
      'nodeSelectorTerms',
      'matchExpressions',
      'preference',
      'key',
      'tolerations',
      '__proto__',
      'constructor',
    ],
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 7 },
      fc.constantFrom<unknown>(null, true, 0, '', 'x', '__proto__'),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(tree, (spec) =>
      violationsOf({ spec }).every(
        ({ path, message }) => path.startsWith('spec') && message.startsWith(path),
      ),
    ),
    { numRuns: 500 },
  );
});

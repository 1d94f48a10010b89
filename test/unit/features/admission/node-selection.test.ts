import t from 'tap';
import { nodeSelectionViolations } from '../../../../src/features/admission/node-selection.ts';
import { podPartOf } from '../../../../src/features/admission/pod-part.ts';
import { newViolations } from '../../../../src/features/admission/violation.ts';

function violationsOf(object: unknown) {
  const part = podPartOf('', 'pods', object);
  return part === undefined ? [] : nodeSelectionViolations(part, ['example.com/pool']);
}

const pathsOf = (spec: unknown): string[] => violationsOf({ spec }).map(({ path }) => path);

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';
const AT = `spec.affinity.nodeAffinity.${REQUIRED}`;
const required = (...nodeSelectorTerms: unknown[]) => ({
  affinity: { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms } } },
});
const hostname = { key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] };
const ALLOWED = ['kubernetes.io/os', 'kubernetes.io/arch', 'example.com/pool'];
const allowed = { matchExpressions: ALLOWED.map((key) => ({ key, operator: 'In', values: ['a'] })) };
const preferred = [{ weight: 1, preference: { matchExpressions: [hostname] } }];

for (const [what, spec, paths] of [
  ['a name', { nodeName: 'n1' }, ['spec.nodeName']],
  ['allowed labels', { nodeSelector: Object.fromEntries(ALLOWED.map((key) => [key, 'a'])) }, []],
  [
    'other labels',
    { nodeSelector: JSON.parse('{"__proto__":"a","constructor":"b"}') },
    ['spec.nodeSelector[__proto__]', 'spec.nodeSelector[constructor]'],
  ],
  ['affinity by allowed labels', required(allowed), []],
  [
    'affinity by another label',
    required(allowed, { matchExpressions: [{ ...hostname, operator: 'NotIn' }] }),
    [`${AT}.nodeSelectorTerms[1].matchExpressions[0].key`],
  ],
  [
    'affinity by fields',
    required({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }),
    [`${AT}.nodeSelectorTerms[0].matchFields[0]`],
  ],
  [
    'preferred affinity',
    { affinity: { nodeAffinity: { [PREFERRED]: preferred } } },
    [`spec.affinity.nodeAffinity.${PREFERRED}[0].preference.matchExpressions[0].key`],
  ],
  [
    'tolerations of every taint',
    { tolerations: [{ key: 'a' }, { operator: 'Exists' }, { key: '' }, null] },
    ['spec.tolerations[1]', 'spec.tolerations[2]', 'spec.tolerations[3]'],
  ],
  ['a priority class of the system', { priorityClassName: 'system-x' }, ['spec.priorityClassName']],
] as const)
  t.test(`D236: ${what}`, async (t) => {
    t.strictSame(pathsOf(spec), paths);
  });

t.test('a field of a wrong type is refused', async (t) => {
  for (const [spec, path] of [
    [{ nodeSelector: { 'kubernetes.io/os': 1 } }, 'spec.nodeSelector[kubernetes.io/os]'],
    [{ affinity: { nodeAffinity: { [REQUIRED]: [] } } }, AT],
  ] as const)
    t.ok(pathsOf(spec).includes(path), path);
});

t.test('an update is judged by the selections that it changes', async (t) => {
  const old = { spec: { nodeName: 'n1', ...required({ matchExpressions: [hostname] }) } };
  const changed = {
    spec: { nodeName: 'n2', ...required({ matchExpressions: [{ ...hostname, values: ['n2'] }] }) },
  };
  const rules = newViolations(violationsOf, changed, old).map(({ rule }) => rule);
  t.strictSame(rules, ['nodeName', 'nodeAffinity'], 'the values of an expression count too');
});

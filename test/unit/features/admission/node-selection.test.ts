import t from 'tap';
import { parse } from 'yaml';
import { nodeSelectionViolations } from '../../../../src/features/admission/node-selection.ts';
import { podPartOf } from '../../../../src/features/admission/pod-part.ts';
import { newViolations } from '../../../../src/features/admission/violation.ts';
import { eachRow } from '../../../support/rows.ts';

function violationsOf(object: unknown) {
  const part = podPartOf('', 'pods', object);
  return part === undefined ? [] : nodeSelectionViolations(part, ['example.com/pool']);
}

const pathsOf = (spec: string): string[] => violationsOf({ spec: parse(spec) }).map(({ path }) => path);

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';
const AT = `spec.affinity.nodeAffinity.${REQUIRED}`;
const required = (...terms: string[]) =>
  `affinity: {nodeAffinity: {${REQUIRED}: {nodeSelectorTerms: [${terms.join(', ')}]}}}`;
const byHostname = (operator: string, node: string) =>
  `{matchExpressions: [{key: kubernetes.io/hostname, operator: ${operator}, values: [${node}]}]}`;
const ALLOWED = `{matchExpressions: [
  {key: kubernetes.io/os, operator: In, values: [a]},
  {key: kubernetes.io/arch, operator: In, values: [a]},
  {key: example.com/pool, operator: In, values: [a]}]}`.replaceAll('\n', '');
const BY_NAME = '{matchFields: [{key: metadata.name, operator: In, values: [n]}]}';

t.test('D236 a pod that chooses nodes is refused, and each field by which it does is named', (t) =>
  eachRow(
    `
  a name | {nodeName: n1} | spec.nodeName
  allowed labels | {nodeSelector: {kubernetes.io/os: a, kubernetes.io/arch: a, example.com/pool: a}} |
  other labels | {nodeSelector: {__proto__: a, constructor: b}} | spec.nodeSelector[__proto__], spec.nodeSelector[constructor]
  affinity by allowed labels | {${required(ALLOWED)}} |
  affinity by another label | {${required(ALLOWED, byHostname('NotIn', 'n1'))}} | ${AT}.nodeSelectorTerms[1].matchExpressions[0].key
  affinity by fields | {${required(BY_NAME)}} | ${AT}.nodeSelectorTerms[0].matchFields[0]
  preferred affinity | {affinity: {nodeAffinity: {${PREFERRED}: [{weight: 1, preference: ${byHostname('In', 'n1')}}]}}} | spec.affinity.nodeAffinity.${PREFERRED}[0].preference.matchExpressions[0].key
  tolerations of every taint | {tolerations: [{key: a}, {operator: Exists}, {key: ''}, null]} | spec.tolerations[1], spec.tolerations[2], spec.tolerations[3]
  a priority class of the system | {priorityClassName: system-x} | spec.priorityClassName`,
    (what, spec, paths = '') => t.equal(pathsOf(spec).join(', '), paths, what),
  ),
);

t.test('a field of a wrong type is refused', async (t) => {
  t.ok(pathsOf('{nodeSelector: {kubernetes.io/os: 1}}').includes('spec.nodeSelector[kubernetes.io/os]'));
  t.ok(pathsOf(`{affinity: {nodeAffinity: {${REQUIRED}: []}}}`).includes(AT));
});

t.test('an update is judged by the selections that it changes', async (t) => {
  const podOn = (node: string) => ({
    spec: parse(`{nodeName: ${node}, ${required(byHostname('In', node))}}`),
  });
  const rules = newViolations(violationsOf, podOn('n2'), podOn('n1')).map(({ rule }) => rule);
  t.strictSame(rules, ['nodeName', 'nodeAffinity'], 'the values of an expression count too');
});

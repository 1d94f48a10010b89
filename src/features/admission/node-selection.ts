/**
 * A tenant's pods run where the scheduler puts them: a pod that names a node, selects nodes by labels,
 * tolerates every taint, or claims a priority of the system is refused. Labels of the operating system and
 * the architecture, and those that the operator names, may be selected.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
 */
import { ObjectReader } from './object-reader.ts';
import type { PodPart } from './pod-part.ts';
import { keyPath, type Violation, violation } from './violation.ts';

const ALWAYS_ALLOWED: readonly string[] = ['kubernetes.io/os', 'kubernetes.io/arch'];
/** Reserved by Kubernetes: `system-node-critical`, `system-cluster-critical`. */
const SYSTEM_PRIORITY = 'system-';

/** @param allowedLabels further labels of nodes that tenants may select by */
export function nodeSelectionViolations(
  { spec, specPath }: PodPart,
  allowedLabels: readonly string[],
): Violation[] {
  const violations: Violation[] = [];
  const pod = new ObjectReader(spec, specPath, violations);
  const refuse = (rule: string, path: string, value: unknown, why: string) =>
    violations.push(violation(rule, path, value, why));
  const refuseLabel = (rule: string, path: string, value: unknown, label: string) => {
    if (![...ALWAYS_ALLOWED, ...allowedLabels].includes(label))
      refuse(rule, path, value, `tenants may not select nodes by the label ${JSON.stringify(label)}`);
  };
  const nodeName = pod.text('nodeName') ?? '';
  if (nodeName !== '') refuse('nodeName', pod.pathOf('nodeName'), nodeName, 'tenants may not choose a node');
  for (const [label, value] of pod.textMap('nodeSelector'))
    refuseLabel('nodeSelector', keyPath(pod.pathOf('nodeSelector'), label), value, label);
  for (const term of nodeAffinityTerms(pod)) {
    // The whole expression is compared with an older object: operator and values too.
    for (const expression of term.objects('matchExpressions'))
      refuseLabel('nodeAffinity', expression.pathOf('key'), expression.fields, expression.text('key') ?? '');
    for (const { path, fields } of term.objects('matchFields'))
      refuse('nodeAffinity', path, fields, 'tenants may not select nodes by their fields');
  }
  // Without a key, a toleration is either for every taint or invalid.
  for (const toleration of pod.objects('tolerations'))
    if ((toleration.text('key') ?? '') === '') {
      const why = 'tenants may not tolerate every taint: a toleration needs a key';
      refuse('tolerations', toleration.path, toleration.fields, why);
    }
  const priority = pod.text('priorityClassName') ?? '';
  if (priority.startsWith(SYSTEM_PRIORITY)) {
    const why = 'priority classes of the system are not for tenants';
    refuse('priorityClass', pod.pathOf('priorityClassName'), priority, why);
  }
  return violations;
}

/** The terms of requirements and of preferences: a preference chooses nodes too. */
function nodeAffinityTerms(pod: ObjectReader): ObjectReader[] {
  const affinity = pod.object('affinity').object('nodeAffinity');
  return [
    ...affinity.object('requiredDuringSchedulingIgnoredDuringExecution').objects('nodeSelectorTerms'),
    ...affinity
      .objects('preferredDuringSchedulingIgnoredDuringExecution')
      .map((preferred) => preferred.object('preference')),
  ];
}

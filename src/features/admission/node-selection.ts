/**
 * A tenant's pods run where the scheduler puts them: a pod that names a node, selects nodes by labels,
 * tolerates every taint, or claims a priority of the system is refused, and so is a binding. Labels of the
 * operating system and the architecture, and those that the operator names, may be selected.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
 */
import { ObjectReader } from './object-reader.ts';
import type { PodPart } from './pod-part.ts';
import { keyPath, type Violation } from './violation.ts';

const ALWAYS_ALLOWED: readonly string[] = ['kubernetes.io/os', 'kubernetes.io/arch'];
/** Reserved by Kubernetes: `system-node-critical`, `system-cluster-critical`. */
const SYSTEM_PRIORITY = 'system-';

export interface NodeSelectionOptions {
  /** Labels of nodes that tenants may select by. */
  readonly allowedLabels: readonly string[];
}

export function nodeSelectionViolations(
  { spec, specPath }: PodPart,
  { allowedLabels }: NodeSelectionOptions,
): Violation[] {
  const violations: Violation[] = [];
  const pod = new ObjectReader(spec, specPath, violations);
  const allowed = new Set([...ALWAYS_ALLOWED, ...allowedLabels]);
  const nodeName = pod.text('nodeName') ?? '';
  if (nodeName !== '')
    violations.push(refusal('nodeName', pod.pathOf('nodeName'), nodeName, 'tenants may not choose a node'));
  for (const [label, value] of pod.textMap('nodeSelector'))
    if (!allowed.has(label))
      violations.push(labelRefusal('nodeSelector', keyPath(pod.pathOf('nodeSelector'), label), value, label));
  for (const term of nodeAffinityTerms(pod)) violations.push(...termViolations(term, allowed));
  for (const toleration of pod.objects('tolerations')) violations.push(...tolerationViolations(toleration));
  violations.push(...priorityViolations(pod));
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

/** What is compared with an older object is the whole expression: operator and values too. */
function termViolations(term: ObjectReader, allowed: ReadonlySet<string>): Violation[] {
  const expressions = term.objects('matchExpressions').flatMap((expression) => {
    const key = expression.text('key') ?? '';
    if (allowed.has(key)) return [];
    return [labelRefusal('nodeAffinity', expression.pathOf('key'), expression.fields, key)];
  });
  const fields = term
    .objects('matchFields')
    .map((field) =>
      refusal('nodeAffinity', field.path, field.fields, 'tenants may not select nodes by their fields'),
    );
  return [...expressions, ...fields];
}

/** Without a key, a toleration is either for every taint or invalid. */
function tolerationViolations(toleration: ObjectReader): Violation[] {
  if ((toleration.text('key') ?? '') !== '') return [];
  const why = 'tenants may not tolerate every taint: a toleration needs a key';
  return [refusal('tolerations', toleration.path, toleration.fields, why)];
}

function priorityViolations(pod: ObjectReader): Violation[] {
  const name = pod.text('priorityClassName') ?? '';
  if (!name.startsWith(SYSTEM_PRIORITY)) return [];
  const path = pod.pathOf('priorityClassName');
  return [refusal('priorityClass', path, name, 'priority classes of the system are not for tenants')];
}

/** Whether the request places a pod on a node, which is the scheduler's part. */
export function isNodeBinding(apiGroup: string, resource: string, subresource: string): boolean {
  if (apiGroup !== '') return false;
  return resource === 'pods' ? subresource === 'binding' : resource === 'bindings';
}

/** @param binding the body of a request for which `isNodeBinding` holds; whatever it says is refused */
export function bindingViolations(binding: unknown): Violation[] {
  const violations: Violation[] = [];
  const target = new ObjectReader(binding, '', violations).object('target');
  const why = 'tenants may not bind pods to nodes';
  return [...violations, refusal('binding', target.path, target.fields, why)];
}

function labelRefusal(rule: string, path: string, value: unknown, label: string): Violation {
  return refusal(rule, path, value, `tenants may not select nodes by the label ${JSON.stringify(label)}`);
}

function refusal(rule: string, path: string, value: unknown, why: string): Violation {
  return { rule, path, value, message: `${path}: ${why}` };
}

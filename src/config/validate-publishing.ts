/**
 * Rules for `publishing`: what is published can be, and there is a credential that may write it.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { kindProblem, NAMESPACED_KINDS, type PublishedKind, resourceName } from '../api/published-objects.ts';
import { namespaceProblem } from '../api/reserved-names.ts';
import type { Finding, Path } from './problem.ts';

export function validatePublishing({ publishing, bindings, tenancy }: StonegateConfiguration): Finding[] {
  if (publishing === undefined) return [];
  const { namespaces, clusterScoped, kinds } = publishing;
  const findings: Finding[] = [];
  if (bindings.credential === undefined)
    findings.push({
      path: ['bindings', 'credential'],
      message: 'is required with publishing: what impersonates must not also give rights',
    });
  if (namespaces.length === 0 && clusterScoped.length === 0)
    findings.push({ path: ['publishing', 'namespaces'], message: 'is required, or clusterScoped is' });
  if (tenancy.mode === 'shared' && clusterScoped.length > 0)
    findings.push({
      path: ['publishing', 'clusterScoped'],
      message: 'expected none in shared mode: all tenants share what has no namespace',
    });
  return [
    ...findings,
    ...namespaces.flatMap((name, at) => namespaceFindings(namespaces, name, at)),
    ...clusterScoped.flatMap(({ kind }, at) =>
      kindFindings(['publishing', 'clusterScoped', at, 'resource'], kind),
    ),
    ...kinds.flatMap((kind, at) => kindFindings(['publishing', 'kinds', at], kind)),
  ];
}

function namespaceFindings(all: readonly string[], name: string, at: number): Finding[] {
  const path = ['publishing', 'namespaces', at];
  const problem = namespaceProblem(name);
  if (problem !== undefined)
    return [{ path, message: `expected a namespace, found "${name}", which ${problem}` }];
  return all.indexOf(name) === at
    ? []
    : [{ path, message: `expected each namespace once, found "${name}" again` }];
}

function kindFindings(path: Path, kind: PublishedKind): Finding[] {
  const name = resourceName(kind);
  const problem = kindProblem(kind);
  if (problem !== undefined)
    return [{ path, message: `expected another kind than ${name}, which ${problem}` }];
  const isKnown =
    kind.namespaced && NAMESPACED_KINDS.some((known) => resourceName(known) === resourceName(kind));
  return isKnown
    ? [{ path, message: `expected a further kind, found ${name}, which is published anyway` }]
    : [];
}

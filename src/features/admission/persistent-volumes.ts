/**
 * PersistentVolumes that are files or devices of a node. Pod Security does not know them, since on an
 * ordinary cluster tenants cannot create any; on Arktos each tenant has its own.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#types-of-persistent-volumes
 */
import { deviceViolations } from './arktos-pod-fields.ts';
import { ObjectReader } from './object-reader.ts';
import type { PodSecurityLevel } from './pod-security/check.ts';
import type { Violation } from './violation.ts';

const FILES_OF_A_NODE = ['hostPath', 'local'] as const;

/** @param arktosFields whether the VM runtime of Arktos may be there */
export function persistentVolumeViolations(
  volume: unknown,
  level: PodSecurityLevel,
  arktosFields: boolean,
): Violation[] {
  if (level === 'privileged') return [];
  const violations: Violation[] = [];
  const spec = new ObjectReader(volume, '', violations).object('spec');
  for (const source of FILES_OF_A_NODE)
    if (spec.has(source))
      violations.push({
        rule: 'persistentVolumes',
        path: spec.pathOf(source),
        value: spec.value(source),
        message: `${spec.pathOf(source)}: tenants may not use files of a node`,
      });
  if (arktosFields) violations.push(...deviceViolations(spec));
  return violations;
}

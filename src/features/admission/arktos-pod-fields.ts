/**
 * What the Pod Security Standards do not know: Arktos' own fields of a pod, and PersistentVolumes, of which
 * each tenant of Arktos has its own. Arktos' network controller and VM runtime follow the fields with one
 * identity for all tenants and do not check whose the network, port or secret is; annotations do the same.
 * https://github.com/CentaurusInfra/arktos/blob/master/docs/design-proposals/network/NICAndVPCSupportInArktos.md
 */
import { ObjectReader } from './object-reader.ts';
import type { PodPart } from './pod-part.ts';
import type { PodSecurityLevel } from './pod-security.ts';
import { keyPath, type Violation, violation } from './violation.ts';

const RULE = 'arktosFields';
/** Gives block devices of the node to VMs. */
const VIRTLET_DRIVER = /^virtlet\//;
const NETWORK = 'tenants may not choose a network';
const SOURCE = 'tenants may not name sources outside the tenant';
const VM = 'a VM cannot be restricted';
/** Why an annotation is refused at baseline. */
const ANNOTATIONS: ReadonlyMap<string, string> = new Map([
  // The kubelet prefers these to the fields `vpc` and `nics`.
  ['VPC', NETWORK],
  ['NICs', NETWORK],
  // The VM runtime reads the secrets and config maps that these name in the system tenant's namespaces.
  ['VirtletCloudInitUserDataSource', SOURCE],
  ['VirtletFilesFromDataSource', SOURCE],
  ['VirtletSSHKeySource', SOURCE],
]);
/** Runs the containers of a pod as a VM, which has no security context. */
const RUNTIME_ANNOTATION = 'kubernetes.io/target-runtime';

export function arktosFieldViolations(
  { metadata, metadataPath, spec, specPath }: PodPart,
  level: PodSecurityLevel,
): Violation[] {
  if (level === 'privileged') return [];
  const violations: Violation[] = [];
  const meta = new ObjectReader(metadata, metadataPath, violations);
  const pod = new ObjectReader(spec, specPath, violations);
  const refuse = (path: string, value: unknown, why: string) =>
    violations.push(violation(RULE, path, value, why));
  const vpc = pod.text('vpc') ?? '';
  if (vpc !== '') refuse(pod.pathOf('vpc'), vpc, NETWORK);
  for (const { path, fields } of pod.objects('nics')) refuse(path, fields, 'tenants may not attach ports');
  violations.push(...pod.objects('volumes').flatMap(deviceViolations));
  for (const [key, value] of meta.textMap('annotations')) {
    const isVM = level === 'restricted' && key === RUNTIME_ANNOTATION;
    const why = ANNOTATIONS.get(key) ?? (isVM ? VM : undefined);
    if (why !== undefined) refuse(keyPath(meta.pathOf('annotations'), key), value, why);
  }
  const { path, fields } = pod.object('virtualMachine');
  if (level === 'restricted' && pod.has('virtualMachine')) refuse(path, fields, VM);
  return violations;
}

/**
 * Refuses PersistentVolumes that are files or devices of a node.
 *
 * @param hasDevices whether Arktos' VM runtime may be there, which gives devices to VMs
 */
export function persistentVolumeViolations(
  volume: unknown,
  level: PodSecurityLevel,
  hasDevices: boolean,
): Violation[] {
  if (level === 'privileged') return [];
  const violations: Violation[] = [];
  const spec = new ObjectReader(volume, '', violations).object('spec');
  for (const source of ['hostPath', 'local'])
    if (spec.has(source)) {
      const why = 'tenants may not use files of a node';
      violations.push(violation('persistentVolumes', spec.pathOf(source), spec.value(source), why));
    }
  return hasDevices ? [...violations, ...deviceViolations(spec)] : violations;
}

/** @param volume of a pod, or the spec of a PersistentVolume */
function deviceViolations(volume: ObjectReader): Violation[] {
  const flexVolume = volume.object('flexVolume');
  if (!VIRTLET_DRIVER.test(flexVolume.text('driver') ?? '')) return [];
  return [violation(RULE, flexVolume.path, flexVolume.fields, 'tenants may not use devices of a node')];
}

/**
 * Arktos' own fields of a pod, which the Pod Security Standards do not know. Its network controller and its
 * VM runtime follow them with one identity for all tenants and do not check whose the network, port or secret
 * is, and annotations do the same as the fields; so tenants may not use them at baseline.
 * https://github.com/CentaurusInfra/arktos/blob/master/docs/design-proposals/network/NICAndVPCSupportInArktos.md
 */
import { ObjectReader } from './object-reader.ts';
import type { PodPart } from './pod-part.ts';
import type { PodSecurityLevel } from './pod-security/check.ts';
import { keyPath, type Violation } from './violation.ts';

/** Annotations of networks: the kubelet prefers them to the fields `vpc` and `nics`. */
const NETWORK_ANNOTATIONS: ReadonlySet<string> = new Set(['VPC', 'NICs']);
/** The VM runtime reads the secrets and config maps that these name in the system tenant's namespaces. */
const SOURCE_ANNOTATIONS: ReadonlySet<string> = new Set([
  'VirtletCloudInitUserDataSource',
  'VirtletFilesFromDataSource',
  'VirtletSSHKeySource',
]);
/** Runs the containers of a pod as a VM, which has no security context. */
const RUNTIME_ANNOTATION = 'kubernetes.io/target-runtime';
/** Gives block devices of the node to VMs. */
const VIRTLET_DRIVER = /^virtlet\//;

export function arktosFieldViolations(
  { metadata, metadataPath, spec, specPath }: PodPart,
  level: PodSecurityLevel,
): Violation[] {
  if (level === 'privileged') return [];
  const violations: Violation[] = [];
  const meta = new ObjectReader(metadata, metadataPath, violations);
  const pod = new ObjectReader(spec, specPath, violations);
  const refuse = (path: string, value: unknown, why: string): void => {
    violations.push({ rule: 'arktosFields', path, value, message: `${path}: ${why}` });
  };
  const vpc = pod.text('vpc') ?? '';
  if (vpc !== '') refuse(pod.pathOf('vpc'), vpc, 'tenants may not choose a network');
  for (const nic of pod.objects('nics')) refuse(nic.path, nic.fields, 'tenants may not attach ports');
  violations.push(...pod.objects('volumes').flatMap(deviceViolations));
  for (const [key, value] of meta.textMap('annotations')) {
    const why = annotationRefusal(key, level);
    if (why !== undefined) refuse(keyPath(meta.pathOf('annotations'), key), value, why);
  }
  if (level === 'restricted' && pod.has('virtualMachine'))
    refuse(pod.pathOf('virtualMachine'), pod.value('virtualMachine'), 'a VM cannot be restricted');
  else pod.object('virtualMachine');
  return violations;
}

/** @param volume of a pod, or the spec of a PersistentVolume */
export function deviceViolations(volume: ObjectReader): Violation[] {
  const flexVolume = volume.object('flexVolume');
  if (!VIRTLET_DRIVER.test(flexVolume.text('driver') ?? '')) return [];
  const { path, fields: value } = flexVolume;
  return [{ rule: 'arktosFields', path, value, message: `${path}: tenants may not use devices of a node` }];
}

function annotationRefusal(key: string, level: PodSecurityLevel): string | undefined {
  if (NETWORK_ANNOTATIONS.has(key)) return 'tenants may not choose a network';
  if (SOURCE_ANNOTATIONS.has(key)) return 'tenants may not name sources outside the tenant';
  if (level === 'restricted' && key === RUNTIME_ANNOTATION) return 'a VM cannot be restricted';
  return undefined;
}

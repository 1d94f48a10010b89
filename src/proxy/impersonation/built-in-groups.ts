/**
 * Which requests the API server answers itself: those for its built-in API groups. Any other group may be
 * served by an aggregated API server, and `proxy` by a workload, whose statements about Stonegate may be
 * false.
 * https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/
 */
import { isWorkload, type RequestInfo } from '../../kubernetes/request-info.ts';

/** The API groups of Kubernetes up to 1.36 and of Arktos. */
const GROUPS: ReadonlySet<string> = new Set([
  '',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'apps',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'extensions',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  'storagemigration.k8s.io',
]);
/** Matches paths of the API server's own documents; aggregated groups have theirs. */
const DOCUMENTS = /^\/(?:api(?:\/v1)?|apis|version|openapi\/v2|healthz|livez|readyz)\/?$/;
const GROUP_DOCUMENT = /^\/apis\/([^/]+)(?:\/[^/]*)?\/?$/;

export function isServedByAPIServer(info: RequestInfo): boolean {
  if (info.isResourceRequest) return GROUPS.has(info.apiGroup) && !isWorkload(info);
  const group = GROUP_DOCUMENT.exec(info.rawPath)?.[1];
  return group === undefined ? DOCUMENTS.test(info.rawPath) : GROUPS.has(group);
}

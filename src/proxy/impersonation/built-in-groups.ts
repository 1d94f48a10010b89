/**
 * Which requests the API server answers itself: those for its built-in API groups. Any other group may be
 * served by an aggregated API server, and `proxy` by a workload, whose statements about Stonegate may be
 * false.
 * https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/
 */
import schema from '../../kubernetes/kubernetes-kinds.json' with { type: 'json' };
import { isWorkload, type RequestInfo } from '../../kubernetes/request-info.ts';

/** The group of `apps/v1`; the core group, of `v1`, has an empty name. */
const groupOf = (version: string) => version.slice(0, Math.max(version.indexOf('/'), 0));
/** The API groups of Kubernetes and Arktos. The schema is that of client-go, which lacks the last two. */
const GROUPS: ReadonlySet<string> = new Set([
  ...Object.keys(schema.kinds).map(groupOf),
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
]);
/** Matches paths of the API server's own documents; aggregated groups have theirs. */
const DOCUMENTS = /^\/(?:api(?:\/v1)?|apis|version|openapi\/v2|healthz|livez|readyz)\/?$/;
const GROUP_DOCUMENT = /^\/apis\/([^/]+)(?:\/[^/]*)?\/?$/;

export function isServedByAPIServer(info: RequestInfo): boolean {
  if (info.isResourceRequest) return GROUPS.has(info.apiGroup) && !isWorkload(info);
  const group = GROUP_DOCUMENT.exec(info.rawPath)?.[1];
  return group === undefined ? DOCUMENTS.test(info.rawPath) : GROUPS.has(group);
}

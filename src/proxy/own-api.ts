/**
 * The API group `stonegate.dev` is Stonegate's own in every tenancy mode: nothing below it reaches the API
 * server, so that no object a tenant creates there can pose as Stonegate's answer. One list of its resources
 * serves routing, discovery and OpenAPI.
 */

import { StatusError } from '../errors/status-error.ts';
import type { RequestInfo, ResourceRequest, TenantName } from '../kubernetes/request-info.ts';

export const OWN_GROUP = 'stonegate.dev';
export const OWN_VERSION = 'v1alpha1';

export interface OwnResource {
  /** The name of the resource in paths. */
  readonly name: string;
  readonly singularName: string;
  readonly kind: string;
  /** If true, it is requested in a namespace, else outside of all. In Arktos, both within the tenant. */
  readonly namespaced: boolean;
  /**
   * As discovery lists them. Clients list and watch every resource with `list` and `watch`: only one that
   * has objects is to name them.
   */
  readonly verbs: readonly string[];
  readonly methods: readonly string[];
  /** Whether it is served only if the RBAC index is configured. */
  readonly needsIndex: boolean;
  /** Whether a path may name the user's own tenant, as Arktos' clients write it. */
  readonly inTenant: boolean;
  /** The description that `kubectl explain` prints. */
  readonly description: string;
}

/** The resources of `stonegate.dev/v1alpha1`. A further one is one entry. */
const OWN_RESOURCES = [
  {
    name: 'selfidentity',
    singularName: 'selfidentity',
    kind: 'SelfIdentity',
    namespaced: false,
    verbs: ['get'],
    methods: ['GET', 'HEAD'],
    needsIndex: false,
    inTenant: false,
    description: 'SelfIdentity is the user as Stonegate knows them: name, tenant, groups, roles and scope.',
  },
  {
    name: 'explanations',
    singularName: 'explanation',
    kind: 'Explanation',
    namespaced: false,
    verbs: ['create'],
    methods: ['POST'],
    needsIndex: false,
    inTenant: false,
    description: 'Explanation says what would become of a request, stage by stage.',
  },
  {
    name: 'resourceaccessreviews',
    singularName: 'resourceaccessreview',
    kind: 'ResourceAccessReview',
    namespaced: false,
    verbs: ['create'],
    methods: ['POST'],
    needsIndex: true,
    inTenant: true,
    description:
      'ResourceAccessReview lists who can do something: in one namespace, in every namespace, or with a path.',
  },
  {
    name: 'localresourceaccessreviews',
    singularName: 'localresourceaccessreview',
    kind: 'LocalResourceAccessReview',
    namespaced: true,
    verbs: ['create'],
    methods: ['POST'],
    needsIndex: true,
    inTenant: true,
    description: 'LocalResourceAccessReview lists who can do something in its namespace.',
  },
  {
    name: 'selfaccessrules',
    singularName: 'selfaccessrules',
    kind: 'SelfAccessRules',
    namespaced: false,
    verbs: ['get'],
    methods: ['GET'],
    needsIndex: true,
    inTenant: true,
    description: 'SelfAccessRules is everything that the user may do, by namespace.',
  },
  {
    name: 'accessrulesreviews',
    singularName: 'accessrulesreview',
    kind: 'AccessRulesReview',
    namespaced: false,
    verbs: ['create'],
    methods: ['POST'],
    needsIndex: true,
    inTenant: true,
    description: 'AccessRulesReview is everything that the user of a token, or a named user, may do.',
  },
] as const satisfies readonly OwnResource[];

export type OwnResourceName = (typeof OWN_RESOURCES)[number]['name'];

/** A request that Stonegate answers itself and does not forward. */
export type OwnAPIRoute =
  | {
      readonly kind: 'own-api';
      readonly resource: OwnResourceName;
      /** Empty for a resource that is not namespaced. */
      readonly namespace: string;
    }
  /** The group's own documents: an APIGroup, an APIResourceList, or OpenAPI v3. */
  | { readonly kind: 'own-discovery'; readonly document: OwnDocument };

export type OwnDocument = 'group' | 'resources' | 'openapi';

export interface OwnAPI {
  /** Those that are configured. */
  readonly resources: readonly OwnResource[];
  /**
   * @param tenant of the user
   * @returns undefined for every other group's path
   * @throws StatusError NotFound, MethodNotAllowed
   */
  route(info: RequestInfo, method: string, tenant: TenantName): OwnAPIRoute | undefined;
}

export interface OwnAPIOptions {
  /** Whether the RBAC index is configured. */
  readonly index: boolean;
}

const GROUP_PATH = `/apis/${OWN_GROUP}`;
const BELOW_GROUP = `${GROUP_PATH}/`;
const VERSION_PATH = `${GROUP_PATH}/${OWN_VERSION}`;
export const OWN_OPENAPI_PATH = `/openapi/v3${VERSION_PATH}`;
const DOCUMENTS: ReadonlyMap<string, OwnDocument> = new Map([
  [GROUP_PATH, 'group'],
  [VERSION_PATH, 'resources'],
  [OWN_OPENAPI_PATH, 'openapi'],
]);
const READ: readonly string[] = ['GET', 'HEAD'];
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

export function createOwnAPI({ index }: OwnAPIOptions): OwnAPI {
  const resources = OWN_RESOURCES.filter(({ needsIndex }) => index || !needsIndex);
  const byName: ReadonlyMap<string, (typeof OWN_RESOURCES)[number]> = new Map(
    resources.map((resource) => [resource.name, resource]),
  );

  return {
    resources,
    route(info, method, tenant) {
      const { rawPath } = info;
      if (rawPath !== GROUP_PATH && rawPath !== OWN_OPENAPI_PATH && !rawPath.startsWith(BELOW_GROUP))
        return undefined;
      const document = DOCUMENTS.get(rawPath);
      if (document !== undefined) {
        if (!READ.includes(method)) throw notAllowed('discovery', READ);
        return { kind: 'own-discovery', document };
      }
      const resource = info.isResourceRequest ? byName.get(info.resource) : undefined;
      if (resource === undefined || !info.isResourceRequest || !isPathOf(resource, info, tenant))
        throw new StatusError('NotFound', notFoundMessage(info, index));
      const methods: readonly string[] = resource.methods;
      if (!methods.includes(method)) throw notAllowed(resource.name, methods);
      return { kind: 'own-api', resource: resource.name, namespace: info.namespace };
    },
  };
}

/** The rest of the message is for users who do not know that the index is optional. */
function notFoundMessage(info: RequestInfo, index: boolean): string {
  const needsIndex =
    info.isResourceRequest &&
    OWN_RESOURCES.some((resource) => resource.name === info.resource && resource.needsIndex);
  const message = 'the server could not find the requested resource';
  return needsIndex && !index
    ? `${message}: ${info.resource} need the RBAC index, which Stonegate's operator turns on with access.index`
    : message;
}

function notAllowed(what: string, methods: readonly string[]): StatusError {
  return new StatusError(
    'MethodNotAllowed',
    `the server does not allow this method on the requested resource: ${what} takes ${methods.join(' and ')}`,
    { allow: methods },
  );
}

/** The path is written anew and compared byte for byte: no other spelling of it is the resource's. */
function isPathOf(resource: OwnResource, info: ResourceRequest, tenant: TenantName): boolean {
  const { namespace } = info;
  if (resource.namespaced !== (namespace !== '')) return false;
  if (namespace !== '' && !NAMESPACE.test(namespace)) return false;
  if (info.tenant !== '' && (!resource.inTenant || info.tenant !== tenant)) return false;
  return info.rawPath === ownPath(resource.name, info);
}

/** @param place an empty part is left out */
export function ownPath(
  resource: string,
  { tenant = '', namespace = '' }: { readonly tenant?: string; readonly namespace?: string } = {},
): string {
  const inTenant = tenant === '' ? '' : `/tenants/${tenant}`;
  const inNamespace = namespace === '' ? '' : `/namespaces/${namespace}`;
  return `${VERSION_PATH}${inTenant}${inNamespace}/${resource}`;
}

/**
 * The API group `stonegate.dev` is Stonegate's own in every tenancy mode: nothing below it reaches the API
 * server, so that no object that a tenant creates there can pass for Stonegate's response. Features provide
 * its resources, from which routing, discovery and OpenAPI follow.
 */

import type { z } from 'zod';
import { methodNotAllowed, pathNotFound, type StatusError } from '../errors/status-error.ts';
import type { RequestInfo, ResourceRequest, TenantName } from '../kubernetes/request-info.ts';

export const OWN_GROUP = 'stonegate.dev';
export const OWN_VERSION = 'v1alpha1';
export const OWN_API_VERSION = `${OWN_GROUP}/${OWN_VERSION}` as const;

const METHOD_OF = { get: 'GET', list: 'GET', create: 'POST', update: 'PUT', delete: 'DELETE' } as const;

export interface OwnResource {
  /** The name of the resource in paths. */
  readonly name: string;
  readonly shortNames?: readonly string[];
  /** The singular of the resource's name is the kind in lower case. */
  readonly kind: string;
  /** If true, it is requested in a namespace, else outside of all. In Arktos, both within the tenant. */
  readonly namespaced: boolean;
  /**
   * The verbs that discovery lists. Clients list every resource with `list`, so only a resource with objects
   * may name it.
   */
  readonly verbs: readonly (keyof typeof METHOD_OF)[];
  /** If absent, the methods follow from the verbs. */
  readonly methods?: readonly string[];
  /** The setting without which the resource is not served; absent: it is always served. */
  readonly needs?: Need;
  /** Where the right to create it is reviewed at the API server; absent: every user may ask. */
  readonly right?: 'cluster' | 'tenant';
  /** Whether a path may name the user's own tenant, as Arktos' clients write it. */
  readonly inTenant: boolean;
  /** The description that `kubectl explain` prints. */
  readonly description: string;
  /** The schemas of its fields beside `metadata`; if absent, OpenAPI describes its kind alone. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
}

export interface Need {
  /** A section of the configuration, or the path of a setting. */
  readonly setting: string;
  /** The name of what the setting turns on, if that is more than the resource. */
  readonly what?: string;
}

export const NEEDS_INDEX: Need = { setting: 'access.index', what: 'the RBAC index' };

/** A request that Stonegate answers itself and does not forward. */
export type OwnAPIRoute =
  | {
      readonly kind: 'own-api';
      /** The name of the resource. */
      readonly resource: string;
      /** Empty for a resource that is not namespaced. */
      readonly namespace: string;
      /** The name of an object; empty for all, and for a resource without objects. */
      readonly name: string;
    }
  /** The group's own documents: an APIGroup, an APIResourceList, or OpenAPI v3. */
  | { readonly kind: 'own-discovery'; readonly document: OwnDocument };

export type OwnDocument = 'group' | 'resources' | 'openapi';

export interface OwnAPI {
  /** The resources that are served. */
  readonly resources: readonly OwnResource[];
  /**
   * @param tenant of the user
   * @returns undefined for every other group's path
   * @throws StatusError NotFound, MethodNotAllowed
   */
  route(info: RequestInfo, method: string, tenant: TenantName): OwnAPIRoute | undefined;
}

const GROUP_PATH = `/apis/${OWN_GROUP}`;
const BELOW_GROUP = `${GROUP_PATH}/`;
const VERSION_PATH = `/apis/${OWN_API_VERSION}`;
export const OWN_OPENAPI_PATH = `/openapi/v3${VERSION_PATH}`;
const DOCUMENTS: ReadonlyMap<string, OwnDocument> = new Map([
  [GROUP_PATH, 'group'],
  [VERSION_PATH, 'resources'],
  [OWN_OPENAPI_PATH, 'openapi'],
]);
const READ: readonly string[] = ['GET', 'HEAD'];
/** These methods need the path of an object. */
const OBJECT_METHODS = ['PUT', 'DELETE'];
/** These need the path of a list. */
const LIST_METHODS = ['POST'];
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * @param resources that the configuration serves
 * @param all resources, with those that it does not serve
 */
export function createOwnAPI(resources: readonly OwnResource[], all = resources): OwnAPI {
  const byName = new Map(all.map((resource) => [resource.name, resource]));
  const served = new Set(resources.map(({ name }) => name));

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
      if (resource !== undefined && !served.has(resource.name))
        throw pathNotFound(resource.needs && `: ${resource.name} ${whyOff(resource.needs)}`);
      const name = resource && info.isResourceRequest ? nameIn(resource, info, tenant) : undefined;
      if (resource === undefined || !info.isResourceRequest || name === undefined) throw pathNotFound();
      const otherPaths = name === '' ? OBJECT_METHODS : LIST_METHODS;
      const methods = methodsOf(resource).filter((each) => !otherPaths.includes(each));
      const isWatched = info.verb === 'watch' && hasObjects(resource);
      if (isWatched || !methods.includes(method)) throw notAllowed(resource.name, methods);
      return { kind: 'own-api', resource: resource.name, namespace: info.namespace, name };
    },
  };
}

function whyOff({ setting, what }: Need): string {
  return what === undefined
    ? `are off: Stonegate's operator turns them on with the section ${setting}`
    : `need ${what}, which Stonegate's operator turns on with ${setting}`;
}

function notAllowed(what: string, methods: readonly string[]): StatusError {
  return methodNotAllowed(methods, `: ${what} takes ${methods.join(' and ')}`);
}

export function methodsOf({ verbs, methods }: OwnResource): readonly string[] {
  return methods ?? [...new Set(verbs.map((verb) => METHOD_OF[verb]))];
}

function hasObjects({ verbs }: OwnResource): boolean {
  return verbs.includes('list');
}

/**
 * The path is written anew and compared byte for byte: no other spelling of it is the resource's.
 *
 * @returns the name of the object in the path, which may be empty; undefined for a path of something else
 */
function nameIn(resource: OwnResource, info: ResourceRequest, tenant: TenantName): string | undefined {
  const { namespace, name, rawPath } = info;
  if (resource.namespaced !== (namespace !== '')) return undefined;
  if (namespace !== '' && !NAMESPACE.test(namespace)) return undefined;
  if (info.tenant !== '' && (!resource.inTenant || info.tenant !== tenant)) return undefined;
  const path = ownPath(resource.name, info);
  if (rawPath === path) return '';
  return hasObjects(resource) && name !== '' && rawPath === `${path}/${name}` ? name : undefined;
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

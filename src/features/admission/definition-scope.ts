/**
 * Keeps tenants from defining custom resources of scope `Cluster`: Arktos stores those once for all tenants,
 * so that each tenant could read and delete what the others have. A patch passes if it leaves the scope
 * alone; a merge patch also if it says what the scope becomes.
 * RFC 6902; RFC 7396; https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply
 */

import { StatusError } from '../../errors/status-error.ts';
import { fieldOf, malformed, objectOf, textOf } from '../../kubernetes/body-fields.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import type { BodyRule, InspectedBody } from '../../proxy/body-rule.ts';
import { ObjectReader } from './object-reader.ts';
import { type Violation, violation } from './violation.ts';

export interface DefinitionScopeOptions {
  /** Whether the tenant may act in every other: its definitions are the operator's. */
  readonly isSystem: (tenant: TenantName) => boolean;
}

const GROUP = 'apiextensions.k8s.io';
const RESOURCE = 'customresourcedefinitions';
/** The API server takes no larger object. */
const MAX_BYTES = 3 * 1024 * 1024;
/** `spec.scope` of an object or a merge patch; each operation of a JSON patch. */
const DEPTH = 2;
/** Characters of a JSON pointer; none in a definition comes near. */
const MAX_POINTER = 4_096;
const SCOPE_RULE =
  'custom resources of scope "Cluster" would be shared by all tenants, use another scope instead';
const ALLOWED: ReadonlySet<unknown> = new Set(['Namespaced', 'Tenant']);
/** Directives that only order or shorten lists. */
const LIST_DIRECTIVES = /^\$(?:setElementOrder|deleteFromPrimitiveList)\//;

export function createDefinitionScopeRule({ isSystem }: DefinitionScopeOptions): BodyRule {
  return {
    maxBytes: MAX_BYTES,
    depth: DEPTH,
    formats: new Set(['object', 'json-patch', 'merge-patch', 'strategic-merge-patch']),
    appliesTo: (info, tenant) => isDefinition(info.apiGroup, info.resource) && !isSystem(tenant),
    admit(body, { info }) {
      if (!keepsScope(body)) throw refused(info.name);
      return undefined;
    },
  };
}

function keepsScope({ format, content }: InspectedBody): boolean {
  switch (format) {
    case 'object':
      return hasAllowedScope(content);
    case 'merge-patch':
    case 'strategic-merge-patch':
      return mergeKeepsScope(objectOf(content, 'the patch'));
    case 'json-patch':
      if (!Array.isArray(content)) throw malformed('the patch is no list');
      return content.every((operation) => operationKeepsScope(objectOf(operation, 'an operation')));
  }
}

/** The problem with the scope of a definition that is about to be stored in a tenant. */
export function definitionScopeViolations(definition: unknown): Violation[] {
  const violations: Violation[] = [];
  const spec = new ObjectReader(definition, '', violations).object('spec');
  const scope = spec.value('scope');
  if (ALLOWED.has(scope)) return violations;
  return [...violations, violation('definitionScope', spec.pathOf('scope'), scope, SCOPE_RULE)];
}

export function isDefinition(group: string, resource: string): boolean {
  return group === GROUP && resource === RESOURCE;
}

/** An absent scope is refused as well: v1 has no default for it. */
function hasAllowedScope(definition: unknown): boolean {
  const spec = fieldOf(objectOf(definition, 'the object'), 'spec');
  return spec !== undefined && ALLOWED.has(fieldOf(objectOf(spec, 'spec'), 'scope'));
}

function mergeKeepsScope(patch: JSONObject): boolean {
  if (hasDirective(patch)) return false;
  const value = fieldOf(patch, 'spec');
  // What is not mentioned stays; null removes it.
  if (value === undefined) return !Object.hasOwn(patch, 'spec');
  const spec = objectOf(value, 'spec');
  if (hasDirective(spec)) return false;
  const scope = fieldOf(spec, 'scope');
  return scope === undefined ? !Object.hasOwn(spec, 'scope') : ALLOWED.has(scope);
}

/** `$patch` and `$retainKeys` replace or remove what the patch does not show. */
function hasDirective(patch: JSONObject): boolean {
  return Object.keys(patch).some((key) => key.startsWith('$') && !LIST_DIRECTIVES.test(key));
}

/** Whether the operation leaves `spec.scope` alone: a patch of it may be written as a merge patch. */
function operationKeepsScope(operation: JSONObject): boolean {
  switch (textOf(operation, 'op')) {
    case 'test':
      return true;
    case 'add':
    case 'replace':
    case 'remove':
      return !touchesScope(textOf(operation, 'path'));
    case 'move':
    case 'copy':
      return !touchesScope(textOf(operation, 'path')) && !touchesScope(textOf(operation, 'from'));
    default:
      throw malformed('an operation of the patch is unknown');
  }
}

/**
 * @returns whether `spec.scope` lies at or under the pointer
 * @throws StatusError BodyMalformed for a pointer that could be read as another
 */
function touchesScope(pointer: string): boolean {
  if (pointer === '') return true;
  if (pointer.length > MAX_POINTER) throw malformed('a path of the patch is too long');
  // Some readers ignore what stands before the first slash.
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer))
    throw malformed('a path of the patch is no JSON pointer');
  const [spec = '', scope] = pointer
    .slice(1)
    .split('/', 2)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  return isSpelled(spec, 'spec') && (scope === undefined || isSpelled(scope, 'scope'));
}

/** @throws StatusError BodyMalformed for another spelling, which Go takes for the field too */
function isSpelled(token: string, field: string): boolean {
  fieldOf({ [token]: null }, field);
  return token === field;
}

function refused(name: string): StatusError {
  const subject = name === '' ? `${RESOURCE}.${GROUP}` : `${RESOURCE}.${GROUP} ${JSON.stringify(name)}`;
  return new StatusError(
    'ClusterScopeForbidden',
    `${subject} is forbidden: the request must show that spec.scope is "Tenant" or "Namespaced"; custom resources of scope "Cluster" would be shared by all tenants, use scope: Tenant instead`,
    { details: { ...(name === '' ? {} : { name }), group: GROUP, kind: RESOURCE } },
  );
}

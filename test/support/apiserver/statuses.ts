/**
 * The API server’s refusals, with the messages of a real server, as errors that are sent as Kubernetes Status
 * objects.
 */
import type { JsonObject } from './json.ts';

export class ApiError extends Error {
  readonly code: number;
  /** Undefined for the few that have none. */
  readonly reason: string | undefined;
  readonly details: JsonObject | undefined;

  constructor(code: number, reason: string | undefined, message: string, details?: JsonObject) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  get status(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      ...(this.reason === undefined ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** A refusal that the server sends as plain text, outside of the API machinery. */
export class PlainError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The name of a resource in messages: `deployments.apps`, `pods`. */
function qualified(group: string, resource: string) {
  return group === '' ? resource : `${resource}.${group}`;
}

function detailsOf(group: string, resource: string, name: string): JsonObject {
  return { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource };
}

export const unauthorized = (): ApiError => new ApiError(401, 'Unauthorized', 'Unauthorized');

export const badRequest = (message: string): ApiError => new ApiError(400, 'BadRequest', message);

export function notFound(group: string, resource: string, name: string): ApiError {
  const message = `${qualified(group, resource)} ${JSON.stringify(name)} not found`;
  return new ApiError(404, 'NotFound', message, detailsOf(group, resource, name));
}

export function alreadyExists(group: string, resource: string, name: string): ApiError {
  const message = `${qualified(group, resource)} ${JSON.stringify(name)} already exists`;
  return new ApiError(409, 'AlreadyExists', message, detailsOf(group, resource, name));
}

export function conflict(group: string, resource: string, name: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(group, resource)} ${JSON.stringify(name)}: the object has been modified; please apply your changes to the latest version and try again`;
  return new ApiError(409, 'Conflict', message, detailsOf(group, resource, name));
}

/** Refused by admission, not by authorization. */
export function notAdmitted(group: string, resource: string, name: string, why: string): ApiError {
  const message = `${qualified(group, resource)} ${JSON.stringify(name)} is forbidden: ${why}`;
  return new ApiError(403, 'Forbidden', message, detailsOf(group, resource, name));
}

export const methodNotAllowed = (): ApiError =>
  new ApiError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );

export interface InvalidField {
  readonly field: string;
  readonly reason: 'FieldValueInvalid' | 'FieldValueRequired' | 'FieldValueNotSupported';
  readonly message: string;
}

export function invalid(group: string, kind: string, name: string, wrong: InvalidField): ApiError {
  return new ApiError(
    422,
    'Invalid',
    `${qualified(group, kind)} ${JSON.stringify(name)} is invalid: ${wrong.field}: ${wrong.message}`,
    {
      ...detailsOf(group, kind, name),
      causes: [{ reason: wrong.reason, message: wrong.message, field: wrong.field }],
    },
  );
}

export interface Attempt {
  readonly userName: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly namespace: string;
  /** Empty if the cluster has no tenants, and for the right to impersonate. */
  readonly tenant: string;
}

/** Refused by authorization. */
export function forbidden(attempt: Attempt): ApiError {
  const { group, resource, subresource, name, namespace, tenant } = attempt;
  const subject = qualified(group, resource) + (name === '' ? '' : ` ${JSON.stringify(name)}`);
  const target = subresource === '' ? resource : `${resource}/${subresource}`;
  const place =
    namespace !== ''
      ? `in the namespace ${JSON.stringify(namespace)}`
      : tenant !== ''
        ? `in the tenant ${JSON.stringify(tenant)}`
        : 'at the cluster scope';
  const message = `${subject} is forbidden: User ${JSON.stringify(attempt.userName)} cannot ${attempt.verb} resource ${JSON.stringify(target)} in API group ${JSON.stringify(group)} ${place}`;
  return new ApiError(403, 'Forbidden', message, detailsOf(group, resource, name));
}

/** The response of an API server that does not let Stonegate impersonate alice. */
export function forbiddenImpersonation(changes: Partial<Attempt> = {}): ApiError {
  return forbidden({
    userName: 'stonegate',
    verb: 'impersonate',
    group: '',
    resource: 'users',
    subresource: '',
    name: 'acme:alice',
    namespace: '',
    tenant: '',
    ...changes,
  });
}

export function forbiddenPath(userName: string, verb: string, path: string): ApiError {
  const message = `forbidden: User ${JSON.stringify(userName)} cannot ${verb} path ${JSON.stringify(path)}`;
  return new ApiError(403, 'Forbidden', message, {});
}

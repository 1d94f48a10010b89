/**
 * Reads an AdmissionReview and writes the response in its version. The body is parsed strictly and bounded;
 * what is not understood is an error, which the API server treats as its failure policy says.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import type {
  AdmissionOperation,
  AdmissionRequest,
  AdmissionResponse,
  AdmissionUser,
} from '../api/admission-v1.ts';
import type { Extra } from '../api/authentication-v1.ts';
import { StatusError } from '../errors/status-error.ts';
import { isJSONObject, type JSONObject, ownValue } from '../lib/json-object.ts';
import { type JSONLimits, parseStrictJSON } from '../lib/strict-json.ts';
import { isDefinition } from './definition-scope.ts';
import { isWithinNodes } from './object-size.ts';

export interface AdmissionReview {
  readonly apiVersion: 'admission.k8s.io/v1' | 'admission.k8s.io/v1beta1';
  readonly request: AdmissionRequest;
}

const LIMITS: JSONLimits = { depth: 256, nodes: 20_000 };
/** Two large definitions with their managed fields have a quarter of it. */
const DEFINITION_LIMITS: JSONLimits = { depth: 256, nodes: 400_000 };
const HEAD_BYTES = 4 * 1024;
const OPERATIONS: readonly AdmissionOperation[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'];
/** A UID is shorter. It is repeated in the response and the log. */
const UID = /^[\w-]{1,128}$/;

/** @throws StatusError BodyMalformed; its message never quotes the body, which may hold a Secret */
export function readAdmissionReview(body: Uint8Array): AdmissionReview {
  const document = objectOf(parse(body), 'the body');
  if (text(document, 'kind') !== 'AdmissionReview') throw malformed('expected an AdmissionReview');
  const apiVersion = text(document, 'apiVersion');
  if (apiVersion !== 'admission.k8s.io/v1' && apiVersion !== 'admission.k8s.io/v1beta1')
    throw malformed('expected admission.k8s.io/v1 or v1beta1');
  const request = objectOf(ownValue(document, 'request'), 'request');
  const uid = text(request, 'uid');
  if (!UID.test(uid)) throw malformed('request.uid is no UID');
  const operation = OPERATIONS.find((name) => name === text(request, 'operation'));
  if (operation === undefined) throw malformed('request.operation is not known');
  const resource = objectOf(ownValue(request, 'resource'), 'request.resource');
  const isLarge = !isWithinNodes(document, LIMITS.nodes);
  if (isLarge && !isDefinition(text(resource, 'group'), nameOfResource(resource)))
    throw malformed('it holds too many values');
  return {
    apiVersion,
    request: {
      uid,
      operation,
      group: text(resource, 'group'),
      version: text(resource, 'version'),
      resource: nameOfResource(resource),
      subresource: text(request, 'subResource'),
      name: text(request, 'name'),
      namespace: text(request, 'namespace'),
      user: userOf(objectOf(ownValue(request, 'userInfo'), 'request.userInfo')),
      ...objectsOf(request, operation),
    },
  };
}

export function encodeAdmissionReview(
  { apiVersion }: Pick<AdmissionReview, 'apiVersion'>,
  response: AdmissionResponse,
): string {
  return `${JSON.stringify({ apiVersion, kind: 'AdmissionReview', response })}\n`;
}

function parse(body: Uint8Array): unknown {
  try {
    return parseStrictJSON(body, mayBeOfDefinition(body) ? DEFINITION_LIMITS : LIMITS);
  } catch (error) {
    if (error instanceof SyntaxError) throw malformed(error.message, error);
    throw error;
  }
}

/** API servers write the resource before the objects. What is named there is compared after parsing. */
function mayBeOfDefinition(body: Uint8Array): boolean {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, HEAD_BYTES)).toString();
  const [head = ''] = text.split('"object":', 1);
  return head.includes('"resource":"customresourcedefinitions"');
}

function nameOfResource(resource: JSONObject): string {
  const name = text(resource, 'resource');
  if (name === '') throw malformed('request.resource.resource is missing');
  return name;
}

function userOf(userInfo: JSONObject): AdmissionUser {
  const uid = text(userInfo, 'uid');
  const extra = extraOf(ownValue(userInfo, 'extra') ?? undefined);
  return {
    username: text(userInfo, 'username'),
    groups: texts(ownValue(userInfo, 'groups') ?? [], 'request.userInfo.groups'),
    ...(uid !== '' && { uid }),
    ...(extra !== undefined && { extra }),
  };
}

function extraOf(value: unknown): Extra | undefined {
  if (value === undefined) return undefined;
  const entries = Object.entries(objectOf(value, 'request.userInfo.extra'));
  return Object.fromEntries(
    entries.map(([key, values]) => [key, texts(values ?? [], 'a value of request.userInfo.extra')]),
  );
}

function texts(value: unknown, what: string): readonly string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw malformed(`${what} is no list of strings`);
}

/** What is stored anew has to be there; otherwise nothing could be judged. */
function objectsOf(
  request: JSONObject,
  operation: AdmissionOperation,
): Pick<AdmissionRequest, 'object' | 'oldObject'> {
  const object = optionalObject(request, 'object');
  const oldObject = optionalObject(request, 'oldObject');
  if (object === undefined && (operation === 'CREATE' || operation === 'UPDATE'))
    throw malformed('request.object is missing');
  return { object, oldObject };
}

function optionalObject(request: JSONObject, field: string): JSONObject | undefined {
  const value = ownValue(request, field) ?? undefined;
  return value === undefined ? undefined : objectOf(value, `request.${field}`);
}

function objectOf(value: unknown, what: string): JSONObject {
  if (isJSONObject(value)) return value;
  throw malformed(`${what} is no object`);
}

/** @returns empty if the field is absent or null */
function text(source: JSONObject, field: string): string {
  const value = ownValue(source, field) ?? '';
  if (typeof value === 'string') return value;
  throw malformed(`the field ${field} is no string`);
}

function malformed(why: string, cause?: unknown): StatusError {
  return new StatusError('BodyMalformed', `the review cannot be read: ${why}`, { cause });
}

/**
 * Reads an AdmissionReview and writes the response in its version. The body is parsed strictly and bounded;
 * unknown content is an error, which the API server treats as its failure policy says.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import { z } from 'zod';
import { StatusError } from '../../errors/status-error.ts';
import type { AdmissionRequest, AdmissionResponse } from '../../kubernetes/admission-v1.ts';
import { goTextListsSchema, goTextSchema, goTextsSchema } from '../../lib/go-json.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import { firstProblem } from '../../lib/parse-json.ts';
import { type JSONLimits, parseStrictJSON } from '../../lib/strict-json.ts';
import { isDefinition } from './definition-scope.ts';

export interface AdmissionReview {
  readonly apiVersion: 'admission.k8s.io/v1' | 'admission.k8s.io/v1beta1';
  readonly request: AdmissionRequest;
}

const LIMITS: JSONLimits = { depth: 256, nodes: 20_000 };
/** The schemas of custom resources, which no rule reads, have up to a hundred thousand values. */
const DEFINITION_LIMITS: JSONLimits = { depth: 5, deeper: 'digest', nodes: 20_000 };
const HEAD_BYTES = 4 * 1024;
/** A UID is shorter. It is repeated in the response and the log. */
const UID = /^[\w-]{1,128}$/;

const objectSchema = z
  .custom<JSONObject>(isJSONObject)
  .nullish()
  .transform((object) => object ?? undefined);

const userSchema = z
  .object({
    username: goTextSchema,
    groups: goTextsSchema,
    uid: goTextSchema,
    extra: goTextListsSchema.optional(),
  })
  .transform(({ uid, extra, ...user }) => ({
    ...user,
    ...(uid !== '' && { uid }),
    ...(extra !== undefined && { extra }),
  }));

const requestSchema = z.object({
  uid: z.string().regex(UID),
  operation: z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
  resource: z.object({ group: goTextSchema, version: goTextSchema, resource: z.string().min(1) }),
  subResource: goTextSchema,
  name: goTextSchema,
  namespace: goTextSchema,
  userInfo: userSchema,
  object: objectSchema,
  oldObject: objectSchema,
  dryRun: z.boolean().nullish(),
});

const reviewSchema = z.object({
  kind: z.literal('AdmissionReview'),
  apiVersion: z.enum(['admission.k8s.io/v1', 'admission.k8s.io/v1beta1']),
  request: requestSchema,
});

/** @throws StatusError BodyMalformed; its message never quotes the body, which may hold a Secret */
export function readAdmissionReview(body: Uint8Array): AdmissionReview {
  if (!mayBeOfDefinition(body)) return readWithin(LIMITS, body);
  const review = readWithin(DEFINITION_LIMITS, body);
  return isDefinition(review.request.group, review.request.resource) ? review : readWithin(LIMITS, body);
}

function readWithin(limits: JSONLimits, body: Uint8Array): AdmissionReview {
  const document = parse(body, limits);
  const { data, success } = reviewSchema.safeParse(document);
  if (!success) throw malformed(firstProblem(reviewSchema, document, 'the review') ?? '');
  const { apiVersion, request } = data;
  const { resource, userInfo: user, subResource: subresource, operation, object } = request;
  // Without the new object nothing could be judged.
  if (object === undefined && (operation === 'CREATE' || operation === 'UPDATE'))
    throw malformed('request.object is missing');
  const { uid, name, namespace, oldObject, dryRun } = request;
  const names = { ...resource, subresource, name, namespace };
  const isDryRun = dryRun === true;
  return { apiVersion, request: { uid, operation, ...names, user, isDryRun, object, oldObject } };
}

export function encodeAdmissionReview(
  apiVersion: AdmissionReview['apiVersion'],
  response: AdmissionResponse,
): string {
  return `${JSON.stringify({ apiVersion, kind: 'AdmissionReview', response })}\n`;
}

function parse(body: Uint8Array, limits: JSONLimits): unknown {
  try {
    return parseStrictJSON(body, limits);
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

function malformed(why: string, cause?: unknown): StatusError {
  return new StatusError('BodyMalformed', `the review cannot be read: ${why}`, { cause });
}

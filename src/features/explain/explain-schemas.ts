/**
 * The fields of SelfIdentity and Explanation: `kubectl explain` and the API reference print them, and
 * stonegate-v1alpha1.ts has their types.
 */
import { z } from 'zod';
import { userInfoSchema } from '../../kubernetes/authentication-v1.ts';
import { text, texts } from '../../kubernetes/kubernetes-schema.ts';
import { identityScope } from '../../tenancy/identity.ts';

/**
 * The stages in the order of the lifecycle; `accessReview` is the API server's RBAC, reviewed only if all
 * others passed.
 */
export const STAGES = [
  'parseRequestInfo',
  'authenticate',
  'resolveTenant',
  'actAs',
  'authorize',
  'admit',
  'limit',
  'rewrite',
  'impersonate',
  'deliver',
  'accessReview',
] as const;

const expirationTimestamp = text('When the credential expires (RFC 3339).');
const authenticator = text('What accepted the credential: keystone, jwt, x509, …');
const stageName = z.enum(STAGES).describe('The name of the stage.');

export const selfIdentityStatusSchema = z
  .strictObject({
    user: userInfoSchema.describe('The user as the API server knows them.'),
    tenant: text('The tenant of the user.'),
    authenticator,
    scope: identityScope
      .omit({ roles: true })
      .extend({
        namespace: text("The project's namespace; absent if Stonegate creates none.").exactOptional(),
      })
      .exactOptional()
      .describe('The scope of the credential; absent if its source has no scopes.'),
    roles: texts('Role names on that scope.'),
    accessToken: z
      .strictObject({
        id: text('Its name among the accesstokens.'),
        scopes: text(
          'What it may do of what the user may do: scopes, and rules as JSON, separated by spaces.',
        ),
      })
      .exactOptional()
      .describe('The access token, if the credential is one.'),
    expirationTimestamp,
  })
  .describe('Who the user is.');

const explainedRequest = z
  .strictObject({
    method: text('The HTTP method.'),
    path: text('Path and query, as a client would send them.'),
    headers: z
      .array(z.tuple([z.string(), z.string()]))
      .exactOptional()
      .describe('Header fields besides the credential: name and value.'),
    upgrade: text('The protocol to upgrade to, in lower case: websocket, spdy/3.1.').exactOptional(),
  })
  .describe('The request to be explained.');

export const explanationSpecSchema = z.strictObject({
  request: explainedRequest,
  token: text(
    'The bearer token of the request; absent for one without. Never repeated in the response.',
  ).exactOptional(),
});

const part = z
  .strictObject({
    name: text('The authenticator or the authorizer.'),
    decision: z
      .enum(['accepted', 'passedOn', 'refused'])
      .describe('passedOn, if it does not handle the request.'),
    reason: text('Why.'),
  })
  .describe('A member of the stage.');

const stage = z
  .strictObject({
    name: stageName,
    decision: z.enum(['passed', 'refused', 'notReached', 'unknown']).describe('What it decided.'),
    reason: text('Why.'),
    parts: z.array(part).exactOptional().describe('The members of the stage, in order.'),
  })
  .describe('A stage.');

const refusal = z.strictObject({
  stage: stageName,
  code: text('The code: docs/reference/errors.md.'),
  httpStatus: z.int().describe('The HTTP status.'),
  message: text('The message that is sent to the client.'),
  cause: text('The cause, which only the operator may see.').exactOptional(),
});

export const explanationStatusSchema = z
  .strictObject({
    outcome: z
      .enum(['forwarded', 'tunnelled', 'answered', 'refused'])
      .describe('What becomes of the request.'),
    refusal: refusal.exactOptional().describe('The refusal.'),
    stages: z.array(stage).describe('The stages of the lifecycle, in order.'),
    credential: text('The kind of the credential, without the credential.'),
    requestInfo: z
      .record(z.string(), z.union([z.string(), z.boolean()]))
      .exactOptional()
      .describe('Verb, resource, namespace and the like, as Kubernetes reads the request.'),
    identity: z
      .strictObject({
        authenticator,
        uid: text("The user's id."),
        groups: texts("The user's groups."),
        scope: identityScope.exactOptional().describe('The scope of the credential.'),
        expirationTimestamp,
        facts: z.record(z.string(), z.string()).describe('What else the source says.'),
      })
      .exactOptional()
      .describe('The owner of the credential.'),
    tenant: text('The tenant that the request concerns.').exactOptional(),
    user: userInfoSchema.exactOptional().describe('The user as impersonated.'),
    impersonator: userInfoSchema
      .exactOptional()
      .describe('The user who sends the request, if it is another user.'),
    upstreamPath: text(
      'The path as sent to the API server; absent if the request would not be sent.',
    ).exactOptional(),
    headers: z
      .array(z.strictObject({ name: text('The name.'), value: text('The value.').exactOptional() }))
      .exactOptional()
      .describe("With values if Stonegate sets them; only names for the client's other fields."),
    warnings: texts('What does not exist, and why the index is not used.').exactOptional(),
  })
  .describe('What would become of the request, stage by stage.');

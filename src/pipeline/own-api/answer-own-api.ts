/**
 * Responds to requests for Stonegate's own API: who the client is, and how a request would be decided. The
 * body of an explanation holds a credential: it is read only here, and neither logged nor audited.
 */
import { malformed, objectOf } from '../../admission/body-fields.ts';
import type { ExplainedRequest, ExplanationRequest, SelfIdentity } from '../../api/stonegate-v1alpha1.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { timestamp } from '../../lib/kubernetes-time.ts';
import type { Answerer } from '../delivery.ts';
import type { Explain } from '../explain/explain-request.ts';
import type { UpstreamResponse } from '../ports.ts';
import type { Outgoing, Scoped } from '../request-context.ts';
import { createdResponse, type OwnBodyOptions, readOwnSpec, stringOf } from './own-api-body.ts';

export interface ExplanationAnswererOptions extends OwnBodyOptions {
  readonly explain: Explain;
}

export function createExplanationAnswerer(options: ExplanationAnswererOptions): Answerer<UpstreamResponse> {
  return {
    answer: (outgoing) =>
      outgoing.route.kind === 'own-api' && outgoing.route.resource === 'explanations'
        ? answerExplanation(outgoing, options)
        : undefined,
  };
}

const EXPLANATION = {
  kind: 'Explanation',
  what: 'an explanation',
  fields: ['request', 'token'],
} as const;

async function answerExplanation(
  outgoing: Outgoing,
  { explain, ...reading }: ExplanationAnswererOptions,
): Promise<UpstreamResponse> {
  const { exchange, sourceIPs } = outgoing;
  const spec = await readOwnSpec(outgoing, EXPLANATION, reading);
  const asker = { peerAddress: sourceIPs[0], signal: exchange.signal };
  return createdResponse(await explain(readExplanationSpec(spec), asker));
}

/** @throws StatusError BodyMalformed; it repeats nothing of the body */
function readExplanationSpec({ request, token }: JSONObject): ExplanationRequest['spec'] {
  return {
    request: readRequest(objectOf(request, 'spec.request')),
    ...(token !== undefined && { token: stringOf(token, 'spec.token') }),
  };
}

function readRequest({ method, path, headers = [], upgrade }: JSONObject): ExplainedRequest {
  if (!Array.isArray(headers)) throw malformed('spec.request.headers is no list');
  return {
    method: stringOf(method, 'spec.request.method'),
    path: stringOf(path, 'spec.request.path'),
    headers: headers.map(headerOf),
    ...(upgrade !== undefined && { upgrade: stringOf(upgrade, 'spec.request.upgrade') }),
  };
}

function headerOf(header: unknown): readonly [string, string] {
  const [name, value, ...more]: unknown[] = Array.isArray(header) ? header : [];
  if (more.length > 0) throw malformed('a member of spec.request.headers is no pair of name and value');
  return [stringOf(name, 'the name of a header'), stringOf(value, 'the value of a header')];
}

export const selfIdentityAnswerer: Answerer<UpstreamResponse> = {
  answer(outgoing) {
    const { route } = outgoing;
    if (route.kind !== 'own-api' || route.resource !== 'selfidentity') return undefined;
    return Promise.resolve(answerWith(selfIdentityOf(outgoing)));
  },
};

function answerWith(identity: SelfIdentity): UpstreamResponse {
  return {
    status: 200,
    headers: [
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-cache, private'],
    ],
    body: Buffer.from(`${JSON.stringify(identity)}\n`),
  };
}

/** The same for a user who is known by other means than a request. */
export function selfIdentityOf({
  user,
  tenant,
  identity,
  impersonator,
}: Pick<Scoped, 'user' | 'tenant' | 'identity' | 'impersonator'>): SelfIdentity {
  // The facts of a credential do not hold for the user whom its holder impersonates.
  const known = impersonator === undefined ? identity.scope : undefined;
  const { roles = [], ...scope } = known ?? {};
  return {
    kind: 'SelfIdentity',
    apiVersion: 'stonegate.dev/v1alpha1',
    metadata: { creationTimestamp: null },
    status: {
      user,
      tenant,
      authenticator: identity.authenticator,
      ...('kind' in scope && { scope }),
      roles,
      expirationTimestamp: timestamp(identity.expiresAt),
    },
  };
}

/**
 * Answers requests for an explanation of how a request would be decided. Their body holds a credential: it is
 * read only here, and neither logged nor audited.
 */
import { malformed, objectOf } from '../../admission/body-fields.ts';
import type { ExplainedRequest, ExplanationRequest } from '../../api/stonegate-v1alpha1.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import type { Explain } from '../explain/explain-request.ts';
import type { RouteHandler } from '../feature.ts';
import type { UpstreamResponse } from '../ports.ts';
import { createdResponse, type OwnBodyOptions, readOwnSpec, stringOf } from './own-api-body.ts';

const EXPLANATION = {
  kind: 'Explanation',
  what: 'an explanation',
  fields: ['request', 'token'],
} as const;

export function createExplanationHandler(
  explain: Explain,
  reading: OwnBodyOptions,
): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const { exchange, sourceIPs } = outgoing;
    const spec = await readOwnSpec(outgoing, EXPLANATION, reading);
    const asker = { peerAddress: sourceIPs[0], signal: exchange.signal };
    return createdResponse(await explain(readExplanationSpec(spec), asker));
  };
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

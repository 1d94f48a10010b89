/**
 * Answers requests for an explanation of how a request would be decided. Their body holds a credential: it is
 * read only here, and neither logged nor audited.
 */
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import { type OwnBodyOptions, type OwnKind, ownKind, readOwnSpec } from '../../proxy/own-body.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';
import type { Explain } from './explain-request.ts';
import { explanationSpecSchema } from './explain-schemas.ts';
import type { ExplanationSpec } from './stonegate-v1alpha1.ts';

const EXPLANATION: OwnKind<ExplanationSpec> = ownKind('Explanation', 'an explanation', explanationSpecSchema);

export function createExplanationHandler(
  explain: Explain,
  reading: OwnBodyOptions,
): RouteHandler<UpstreamResponse> {
  return async ({ exchange, sourceIPs }) => {
    const spec = await readOwnSpec(exchange, EXPLANATION, reading);
    const client = { peerAddress: sourceIPs[0], signal: exchange.signal };
    return jsonResponse(201, await explain(spec, client));
  };
}

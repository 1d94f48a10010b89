/**
 * Responds to `POST …/accessrulesreviews`: everything that another user may do, for a service that has the
 * right to ask. The right is reviewed by an authorizer, before.
 */

import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { ResponseMemory } from '../../limits/response-memory.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import type { OwnBodyOptions } from '../../proxy/own-body.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';
import type { AccessRulesReview } from './access-rules-v1alpha1.ts';
import type { FindReviewedSubject } from './reviewed-subject.ts';
import type { RulesDocuments } from './rules-document.ts';
import { readRulesReview } from './rules-request.ts';

export interface RulesReviewOptions extends OwnBodyOptions {
  readonly documents: RulesDocuments;
  readonly findSubject: FindReviewedSubject;
  readonly responseMemory: Pick<ResponseMemory, 'charged'>;
}

export function createRulesReviewHandler({
  documents,
  findSubject,
  responseMemory,
  ...reading
}: RulesReviewOptions): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const { selection, subject: asked } = await readRulesReview(outgoing.exchange, reading);
    const { username, uid, subject, expiresAt } = await findSubject(asked, outgoing);
    const { signal } = outgoing.exchange;
    const { status } = await documents.documentOf({ subject, selection, expiresAt, signal });
    const review: AccessRulesReview = {
      kind: 'AccessRulesReview',
      apiVersion: 'stonegate.dev/v1alpha1',
      metadata: { creationTimestamp: null },
      spec: selection,
      status: { user: { username, ...(uid !== '' && { uid }) }, ...status },
    };
    return responseMemory.charged(outgoing.tenant, jsonResponse(201, review));
  };
}

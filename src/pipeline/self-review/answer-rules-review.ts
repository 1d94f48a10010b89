/**
 * Responds to `POST …/accessrulesreviews`: everything that another user may do, for a service that has the
 * right to ask. The right is reviewed by an authorizer, before.
 */
import type { RulesDocuments } from '../../access/rules/rules-document.ts';
import type { AccessRulesReview } from '../../api/access-rules-v1alpha1.ts';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import type { ResponseMemory } from '../../flowcontrol/response-memory.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Answerer } from '../delivery.ts';
import type { FindReviewedSubject } from '../own-api/reviewed-subject.ts';
import { readRulesReview } from '../own-api/rules-review-body.ts';
import type { UpstreamResponse } from '../ports.ts';
import type { BodyLimits } from '../request/read-body.ts';
import type { Outgoing } from '../request-context.ts';

export interface RulesReviewOptions {
  readonly documents: RulesDocuments;
  readonly findSubject: FindReviewedSubject;
  readonly limits: BodyLimits;
  readonly clock: Clock;
  readonly responseMemory: Pick<ResponseMemory, 'charged'>;
}

export function createRulesReviewAnswerer(options: RulesReviewOptions): Answerer<UpstreamResponse> {
  return {
    answer(outgoing) {
      const { route } = outgoing;
      return route.kind === 'own-api' && route.resource === 'accessrulesreviews'
        ? answerReview(outgoing, options)
        : undefined;
    },
  };
}

async function answerReview(
  outgoing: Outgoing,
  { documents, findSubject, limits, clock, responseMemory }: RulesReviewOptions,
): Promise<UpstreamResponse> {
  const { selection, subject: asked } = await readRulesReview(outgoing.exchange, limits, clock);
  const { username, uid, subject, expiresAt } = await findSubject(asked, outgoing);
  const { status } = documents.documentOf(subject, selection, expiresAt);
  const review: AccessRulesReview = {
    kind: 'AccessRulesReview',
    apiVersion: 'stonegate.dev/v1alpha1',
    metadata: { creationTimestamp: null },
    spec: selection,
    status: { user: { username, ...(uid !== '' && { uid }) }, ...status },
  };
  const response: UpstreamResponse = {
    status: 201,
    headers: [
      ['Content-Type', JSON_TYPE],
      ['Cache-Control', 'no-store'],
    ],
    body: Buffer.from(`${JSON.stringify(review)}\n`),
  };
  return responseMemory.charged(outgoing.tenant, response);
}

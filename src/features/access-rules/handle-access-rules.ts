/**
 * Responds with access rules, for services: to `GET …/selfaccessrules` with those of the user whose
 * credential the service has, and to `POST …/accessrulesreviews` with those of another user. An authorizer
 * has reviewed the right to such a review.
 */

import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import type { AccessSubjects } from '../../proxy/access-subject.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import type { OwnBodyOptions } from '../../proxy/own-body.ts';
import { requireJSON } from '../../proxy/request/accepted-types.ts';
import { jsonResponse, matchesTag, withWarnings } from '../../proxy/response/own-responses.ts';
import type { AccessRulesReview } from './access-rules-v1alpha1.ts';
import { findReviewedSubject, type ReviewedSubjectOptions } from './reviewed-subject.ts';
import { type RulesDocument, type RulesDocuments, selfAccessRules } from './rules-document.ts';
import { readRulesRequest, readRulesReview } from './rules-request.ts';

export interface AccessRulesOptions {
  readonly documents: RulesDocuments;
  readonly subjects: Pick<AccessSubjects, 'subjectOf'>;
}

export function createSelfAccessRulesHandler({
  documents,
  subjects,
}: AccessRulesOptions): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const { headers, signal } = outgoing.exchange;
    const selection = readRulesRequest(outgoing.info.rawQuery);
    requireJSON(headers);
    const subject = await subjects.subjectOf(outgoing);
    const { expiresAt } = outgoing.identity;
    const document = await documents.documentOf({ subject, selection, expiresAt, signal });
    return responseOf(document, headers);
  };
}

function responseOf(document: RulesDocument, requested: HeaderList): UpstreamResponse {
  const tag = `"${document.digest}"`;
  const headers: HeaderList = [
    ['ETag', tag],
    // A client asks Stonegate before it uses the document again; a 304 has a new time.
    ['Cache-Control', 'no-cache, private'],
    ['Expires', new Date(document.validUntil).toUTCString()],
    ['Vary', 'Authorization'],
  ];
  const { incompleteReason } = document.status;
  const warnings = incompleteReason === undefined ? [] : [`this may be incomplete: ${incompleteReason}`];
  const response = matchesTag(requested, tag)
    ? { status: 304, headers, body: Buffer.alloc(0) }
    : {
        ...jsonResponse(200, selfAccessRules(document)),
        headers: [['Content-Type', JSON_TYPE] as const, ...headers],
      };
  return withWarnings(response, warnings);
}

export interface RulesReviewOptions extends OwnBodyOptions, ReviewedSubjectOptions {
  readonly documents: RulesDocuments;
}

export function createRulesReviewHandler(options: RulesReviewOptions): RouteHandler<UpstreamResponse> {
  const { documents } = options;
  return async (outgoing) => {
    const { selection, subject: asked } = await readRulesReview(outgoing.exchange, options);
    const { username, uid, subject, expiresAt } = await findReviewedSubject(asked, outgoing, options);
    const { signal } = outgoing.exchange;
    const { status } = await documents.documentOf({ subject, selection, expiresAt, signal });
    const review: AccessRulesReview = {
      kind: 'AccessRulesReview',
      apiVersion: 'stonegate.dev/v1alpha1',
      metadata: { creationTimestamp: null },
      spec: selection,
      status: { user: { username, ...(uid !== '' && { uid }) }, ...status },
    };
    return jsonResponse(201, review);
  };
}

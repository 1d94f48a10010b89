/**
 * Responds to `GET …/selfaccessrules`: everything that the user of the request may do, for a service that
 * holds the user's credential. An ETag tells whether it is what the client has; a watch tells when it
 * changes.
 */

import type { RulesDocument } from '../../access/rules/rules-document.ts';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import { type HeaderList, headerValues } from '../../lib/header-list.ts';
import type { Answerer } from '../delivery.ts';
import type { UpstreamResponse } from '../ports.ts';
import { acceptedForm } from '../request/accepted-types.ts';
import type { Outgoing } from '../request-context.ts';
import type { StreamedAnswer } from '../response/answer-stream.ts';
import { readRulesRequest } from './rules-request.ts';
import { type AccessRulesOptions, shownAs, watchRules } from './watch-access-rules.ts';

export function createSelfAccessRulesAnswerer(options: AccessRulesOptions): Answerer {
  return {
    answer(outgoing) {
      const { route } = outgoing;
      return route.kind === 'own-api' && route.resource === 'selfaccessrules'
        ? answerRules(outgoing, options)
        : undefined;
    },
  };
}

async function answerRules(
  outgoing: Outgoing,
  options: AccessRulesOptions,
): Promise<UpstreamResponse | StreamedAnswer> {
  const request = readRulesRequest(outgoing.info.rawQuery);
  const subject = await options.subjects.subjectOf(outgoing);
  const document = await options.documents.documentOf({
    subject,
    selection: request.selection,
    expiresAt: outgoing.identity.expiresAt,
    signal: outgoing.exchange.signal,
  });
  if (outgoing.info.verb === 'watch') return watchRules(outgoing, { ...request, subject, document }, options);
  // At once: many requests may have waited for the same roles, and each makes its response now.
  return options.responseMemory.charged(outgoing.tenant, responseOf(document, outgoing.exchange.headers));
}

function responseOf(document: RulesDocument, requested: HeaderList): UpstreamResponse {
  const form = acceptedForm(requested);
  const tag = `"${document.digest}${form === 'table' ? '.table' : ''}"`;
  const headers: HeaderList = [
    ['ETag', tag],
    // To be used again only after Stonegate has been asked; a 304 has a new time.
    ['Cache-Control', 'no-cache, private'],
    ['Expires', new Date(document.validUntil).toUTCString()],
    ['Vary', 'Accept, Authorization'],
    ...warningOf(document),
  ];
  if (isKnown(headerValues(requested, 'if-none-match'), tag))
    return { status: 304, headers, body: Buffer.alloc(0) };
  return {
    status: 200,
    headers: [['Content-Type', JSON_TYPE], ...headers],
    body: Buffer.from(`${JSON.stringify(shownAs(document, form))}\n`),
  };
}

/** kubectl shows it beside a table. RFC 7234 §5.5. */
function warningOf({ status: { incompleteReason } }: RulesDocument): HeaderList {
  if (incompleteReason === undefined) return [];
  return [['Warning', `299 - ${JSON.stringify(`this may be incomplete: ${incompleteReason}`)}`]];
}

/** Weak comparison. RFC 9110 §13.1.2. */
function isKnown(values: readonly string[], tag: string): boolean {
  return values
    .flatMap((value) => value.split(','))
    .map((value) => value.trim().replace(/^W\//, ''))
    .some((value) => value === tag || value === '*');
}

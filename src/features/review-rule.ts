/**
 * A rule decides about AdmissionReviews in the admission webhook. The feature `admission` has the one at the
 * default path; other features have rules at paths of their own.
 */
import type { AdmissionRequest, AdmissionResponse } from '../kubernetes/admission-v1.ts';
import { foreignText } from '../lib/untrusted-text.ts';

export interface Verdict {
  readonly response: AdmissionResponse;
  /** `error`: the rule could not decide, and the request is refused. */
  readonly result: 'allowed' | 'warned' | 'denied' | 'error';
  /** Fields of the log line beside those of the request. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The request to the webhook. */
export interface ReviewCaller {
  /** Address of the client: of an API server, unless other clients reach the listener. */
  readonly source: string;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** The rule has judged the request, but may still have to ask the API server. */
export interface Judged {
  /** @param caller if its signal is aborted, a request about which something has to be asked is refused */
  complete(caller: ReviewCaller): Promise<Verdict>;
}

export interface ReviewRule {
  readonly isPath: (path: string) => boolean;
  readonly review: (request: AdmissionRequest) => Judged;
}

const MAX_MESSAGE = 2_000;
/** The most characters of a text in the log. */
export const MAX_LOGGED = 256;

/** @param why the rule could not decide */
export function undecided({ uid }: AdmissionRequest, why: string): Verdict {
  const message = cut(why, MAX_MESSAGE);
  const status = { status: 'Failure', code: 503, reason: 'ServiceUnavailable', message } as const;
  return {
    response: { uid, allowed: false, status },
    result: 'error',
    fields: { reason: foreignText(why, MAX_LOGGED) },
  };
}

export function cut(text: string, length = MAX_MESSAGE): string {
  return text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text;
}

/**
 * The admission webhook: `/admission` and the paths below it for the AdmissionReviews of API servers, and its
 * own health. A refusal of an object is a verdict with status 200; an error is a Status, which the API server
 * treats as its failure policy says.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */

import { StatusError } from '../../errors/status-error.ts';
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { withDeadline } from '../../lib/clock.ts';
import type { Exchange } from '../../lib/exchange.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { foreignText } from '../../lib/untrusted-text.ts';
import type { ReviewLimits } from '../../limits/review-limits.ts';
import { assertPosted, sendReview } from '../../proxy/posted-review.ts';
import { readBody } from '../../proxy/request/read-body.ts';
import { MAX_LOGGED, type ReviewRule } from '../review-rule.ts';
import { encodeAdmissionReview, readAdmissionReview } from './admission-review.ts';
import { ADMISSION_REVIEWS } from './metrics.ts';
import { ADMISSION_PATH, isReviewPath } from './registered-writes.ts';

const HEALTH: readonly string[] = ['/livez', '/readyz'];
/** The size fits a new object and the stored one of 3 MB each, the most that an API server takes. */
const BODY_LIMITS = { bodyBytes: 8 * 1024 * 1024, bodyTimeout: 5_000, what: 'an AdmissionReview' };
/** Milliseconds for a verdict, from the request's head on. API servers wait for five seconds. */
const TIMEOUT = 4_000;

export interface AdmissionWebhookOptions extends Runtime {
  readonly review: ReviewRule['review'];
  /** Reviews at other paths. */
  readonly others: readonly ReviewRule[];
  readonly limits: ReviewLimits;
}

/** @returns a function that serves one request; it throws StatusError for what is no review */
export function createAdmissionWebhook(
  options: AdmissionWebhookOptions,
): (exchange: Exchange) => Promise<void> {
  const { review, others, limits, clock, random, logger, telemetry } = options;

  return async (exchange) => {
    const [path = ''] = exchange.target.split('?', 1);
    if (['GET', 'HEAD'].includes(exchange.method) && HEALTH.includes(path)) {
      sendOK(exchange);
      return;
    }
    const other = others.find(({ isPath }) => isPath(path));
    assertPosted(exchange, other !== undefined || isReviewPath(path) ? path : ADMISSION_PATH);
    const begun = clock.now();
    const source = exchange.peerAddress ?? '';
    await limits.enter(source, async ({ onSize, inTurn }) => {
      try {
        const posted = await readBody(exchange, { ...BODY_LIMITS, onSize }, clock);
        const { apiVersion, request, judged } = await inTurn(() => {
          const read = readAdmissionReview(posted);
          return { ...read, judged: (other?.review ?? review)(read.request) };
        });
        // While the API server is asked, other bodies are judged.
        const { response, result, fields } = await withDeadline(
          clock,
          Math.max(0, begun + TIMEOUT - clock.now()),
          () => new Error('the verdict took too long'),
          (signal) => judged.complete({ source, signal }),
          exchange.signal,
        );
        telemetry.count(ADMISSION_REVIEWS, { result });
        const auditID = random.uuid();
        logger[result === 'allowed' ? 'debug' : 'info'](
          { auditID, result, ...describe(request), ...fields },
          'admission: reviewed',
        );
        sendReview(exchange, encodeAdmissionReview(apiVersion, response), auditID);
      } catch (error) {
        if (!isRateExceeded(error)) telemetry.count(ADMISSION_REVIEWS, { result: 'error' });
        throw error;
      }
    });
  };
}

function describe(request: AdmissionRequest): Readonly<Record<string, unknown>> {
  const { uid, operation, group, resource, subresource, namespace, name, user } = request;
  return {
    uid,
    operation,
    resource: [group, resource, subresource].filter((part) => part !== '').join('/'),
    namespace: foreignText(namespace, MAX_LOGGED),
    name: foreignText(name, MAX_LOGGED),
    user: foreignText(user.username, MAX_LOGGED),
  };
}

function sendOK({ response, method }: Exchange): void {
  response.writeHead(200, [
    ['Content-Type', 'text/plain; charset=utf-8'],
    ['Content-Length', '2'],
    ['Cache-Control', 'no-store'],
  ]);
  response.end(method === 'HEAD' ? undefined : Buffer.from('ok'));
}

/** The limits have counted it. */
function isRateExceeded(error: unknown): boolean {
  return error instanceof StatusError && error.code === 'AdmissionRateExceeded';
}

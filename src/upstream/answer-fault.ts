/**
 * Which answers are not passed on, by their status alone. The API server never asks an impersonated user for a
 * credential, so its 401 is about ours, but for two kinds of request: one that goes with the client's own token, and one
 * to a `proxy` subresource, behind which somebody else answers. Whoever runs a pod chooses its headers, so nothing in
 * their answer may raise an alarm about our credential.
 */
import type { StatusError } from '../errors/status-error.ts';
import type { Logger } from '../lib/logger.ts';
import { refusedCredential, unavailable } from './failure.ts';

/**
 * @param status a final one
 * @param refusalIsTheirs whether a 401 is the client's to hear, as the pipeline read the request
 * @returns undefined for an answer that can be passed on
 */
export function answerFault(
  status: number,
  refusalIsTheirs: boolean,
  logger: Logger,
): StatusError | undefined {
  if (status < 200 || status > 599) {
    logger.warn({ status }, 'an answer with a status that HTTP does not know');
    return unavailable(`it answered with the status ${status}, which HTTP does not know`);
  }
  if (status !== 401 || refusalIsTheirs) return undefined;
  logger.error({ status }, 'the API server refused the credential Stonegate was given');
  return refusedCredential();
}

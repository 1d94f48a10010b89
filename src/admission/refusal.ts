/**
 * The refusal of a body that its user may not send, in the API server's words and with the reason behind them.
 */
import { forbidden } from '../errors/forbidden.ts';
import { StatusError } from '../errors/status-error.ts';
import type { InspectedRequest } from './body-admission.ts';

/** @param why what in the body is refused */
export function bodyForbidden({ info, user, tenant }: InspectedRequest, why: string): StatusError {
  const { message, details } = forbidden('AccessDenied', info, user.username, tenant);
  return new StatusError('AccessDenied', `${message}: ${why}`, { ...(details && { details }) });
}

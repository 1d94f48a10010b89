/**
 * The audit log: one JSON line an event. RequestReceived is written as soon as the user is known, so that
 * each event names them; a long-running request adds ResponseStarted.
 * https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
 */

import type { Clock } from '../lib/clock.ts';
import { defineCounter, defineGauge } from '../lib/metric.ts';
import {
  type AuditedRequest,
  annotationsText,
  microTime,
  responseText,
  sharedText,
  usersText,
} from './audit-event.ts';

export const AUDIT_EVENTS_LOST = defineCounter({
  name: 'stonegate_audit_events_lost_total',
  help: 'Audit events that could not be written.',
  labels: {},
});
export const AUDIT_LOG_FAILING = defineGauge({
  name: 'stonegate_audit_log_failing',
  help: 'Whether the audit log cannot be written at the moment: 1 or 0.',
  labels: {},
  aggregator: 'max',
  initial: 0,
});

/** The destination of the lines; `audit-file.ts` creates it. */
export interface AuditSink {
  /**
   * Writes one line. A text put together from its parts would be laid out twice, once to be a text and once
   * as bytes.
   *
   * @param parts in their order, in ASCII, without the line feed
   */
  write(...parts: readonly string[]): void;
}

export function createAuditLog({ sink, clock }: { sink: AuditSink; clock: Clock }) {
  return {
    requestReceived(request: AuditedRequest) {
      writeLine(sink, request, STAGES.RequestReceived, request.receivedAt);
    },
    responseStarted(request: AuditedRequest, status: number) {
      writeLine(sink, request, STAGES.ResponseStarted, clock.now(), status);
    },
    responseComplete(request: AuditedRequest) {
      writeLine(sink, request, STAGES.ResponseComplete, clock.now());
    },
  };
}

/** What stands between the shared beginning and the user. */
const STAGES = {
  RequestReceived: ',"stage":"RequestReceived","user":',
  ResponseStarted: ',"stage":"ResponseStarted","user":',
  ResponseComplete: ',"stage":"ResponseComplete","user":',
};

/**
 * The part that all stages of a request share is serialized once. `user` is the authenticated user by the
 * name that the API server sees; `impersonatedUser` is the user of `kubectl --as`, or `user` if the request
 * was forwarded without it.
 *
 * @param request of which user and target do not change any more; keeps the shared beginning
 * @param at of the stage, in milliseconds since the epoch
 * @param status of a response that has begun but not ended
 */
function writeLine(
  sink: AuditSink,
  request: AuditedRequest,
  stage: string,
  at: number,
  status?: number,
): void {
  request.auditText ??= sharedText(request);
  const code = request.outcome?.status ?? status;
  const response = code === undefined ? '' : responseText(code, request.outcome);
  const end = `${response},"stageTimestamp":"${microTime(at)}`;
  sink.write(request.auditText, stage, usersText(request), end, annotationsText(request));
}

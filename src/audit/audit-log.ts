/**
 * The audit log: one JSON line an event. RequestReceived is written as soon as the user is known, so that each
 * event names them; a long-running request adds ResponseStarted.
 * https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
 */
import type { Clock } from '../lib/clock.ts';
import { type AuditedRequest, auditLine } from './audit-event.ts';

/** The port to where the lines go. Implemented in `observability/audit-sink.ts`. */
export interface AuditSink {
  /** @param line in ASCII, without its line feed */
  write(line: string): void;
}

export interface AuditLog {
  requestReceived(request: AuditedRequest): void;
  responseStarted(request: AuditedRequest, status: number): void;
  responseComplete(request: AuditedRequest): void;
}

export function createAuditLog({ sink, clock }: { sink: AuditSink; clock: Clock }): AuditLog {
  return {
    requestReceived(request) {
      sink.write(auditLine(request, 'RequestReceived', request.receivedAt));
    },
    responseStarted(request, status) {
      sink.write(auditLine(request, 'ResponseStarted', clock.now(), status));
    },
    responseComplete(request) {
      sink.write(auditLine(request, 'ResponseComplete', clock.now()));
    },
  };
}

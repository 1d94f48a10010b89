/**
 * What is known of a request, as an `audit.k8s.io/v1` Event at level Metadata. `user` is who the person is to
 * the API server; `impersonatedUser` stands only where the API server was asked as that user, not as Stonegate.
 * https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event
 */
import type { AuditEvent, AuditStage, ObjectReference } from '../api/audit-v1.ts';
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { type HeaderList, headerValue } from '../lib/header-list.ts';
import { redact } from '../lib/redact.ts';

/** What the event is made of; the pipeline's record has this shape. */
export interface AuditedRequest {
  readonly auditID: string;
  readonly receivedAt: number;
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly sourceIPs: readonly string[];
  readonly info?: RequestInfo;
  readonly identity?: Identity;
  readonly tenant?: string;
  readonly user?: UserInfo;
  readonly impersonated?: boolean;
  readonly outcome?: {
    readonly status: number;
    readonly code?: string;
    readonly message?: string;
    readonly aborted: boolean;
  };
}

/** Longest text of a stranger's that an event repeats, in characters. */
const MAX_TEXT = 4096;

/**
 * @param at of the stage, in milliseconds since the epoch
 * @param status of a response that has begun but not ended
 */
export function auditEvent(
  request: AuditedRequest,
  stage: AuditStage,
  at: number,
  status?: number,
): AuditEvent {
  const { info, user, outcome } = request;
  const userAgent = headerValue(request.headers, 'user-agent');
  const reference = info?.isResourceRequest ? objectReference(info) : undefined;
  const code = outcome?.status ?? status;
  const seen = user === undefined ? {} : shown(user);
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: request.auditID,
    stage,
    requestURI: foreign(request.target),
    verb: info?.verb ?? request.method.toLowerCase(),
    user: seen,
    ...(request.impersonated ? { impersonatedUser: seen } : {}),
    sourceIPs: request.sourceIPs,
    ...(userAgent === undefined ? {} : { userAgent: foreign(userAgent) }),
    ...(reference === undefined ? {} : { objectRef: reference }),
    ...(code === undefined ? {} : { responseStatus: responseStatus(code, outcome) }),
    requestReceivedTimestamp: microTime(request.receivedAt),
    stageTimestamp: microTime(at),
    annotations: annotations(request),
  };
}

function shown(user: UserInfo): Partial<UserInfo> {
  return {
    username: user.username,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    groups: user.groups,
    ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
  };
}

function objectReference(info: Extract<RequestInfo, { isResourceRequest: true }>): ObjectReference {
  return {
    resource: info.resource,
    ...(info.namespace === '' ? {} : { namespace: info.namespace }),
    ...(info.name === '' ? {} : { name: info.name }),
    ...(info.apiGroup === '' ? {} : { apiGroup: info.apiGroup }),
    apiVersion: info.apiVersion,
    ...(info.subresource === '' ? {} : { subresource: info.subresource }),
  };
}

function responseStatus(
  code: number,
  outcome: AuditedRequest['outcome'],
): NonNullable<AuditEvent['responseStatus']> {
  return {
    code,
    ...(outcome?.code === undefined ? {} : { reason: outcome.code }),
    ...(outcome?.message === undefined ? {} : { message: foreign(outcome.message) }),
  };
}

function annotations(request: AuditedRequest): Record<string, string> {
  const { identity, tenant, outcome } = request;
  return {
    ...identity?.auditAnnotations,
    ...(tenant === undefined ? {} : { 'stonegate.dev/tenant': tenant }),
    ...(identity === undefined ? {} : { 'stonegate.dev/authenticator': identity.authenticator }),
    ...(outcome?.aborted ? { 'stonegate.dev/aborted': 'true' } : {}),
  };
}

function foreign(text: string): string {
  return redact(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
}

/** metav1.MicroTime; the clock knows milliseconds. */
function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}

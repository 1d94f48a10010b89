/**
 * What is known of a request, as an `audit.k8s.io/v1` Event at level Metadata. `user` is who the person is to
 * the API server; `impersonatedUser` is whom they act as (`kubectl --as`), else themselves where the API server was asked
 * as that user, not as Stonegate.
 * https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event
 */
import type { AuditEvent, AuditStage, ObjectReference } from '../api/audit-v1.ts';
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { type HeaderList, headerValue } from '../lib/header-list.ts';
import { oncePer } from '../lib/once-per.ts';
import { asciiJSON, foreignText } from '../lib/redact.ts';

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
  readonly actsAs?: UserInfo;
  readonly impersonated?: boolean;
  readonly outcome?: {
    readonly status: number;
    readonly code?: string;
    readonly message?: string;
    readonly aborted: boolean;
  };
  /** What its lines begin with, once one was written. */
  auditText?: string;
}

/** No name in Kubernetes is longer than 253 characters; what is, need not be repeated whole. */
const MAX_NAME = 512;

/**
 * The event as one line of JSON, in ASCII. What its stages share is written once for the request, and who somebody is
 * once for the person: with many groups that is most of the line.
 *
 * @param request of which user and target do not change any more; keeps the shared beginning
 * @param at of the stage, in milliseconds since the epoch
 * @param status of a response that has begun but not ended
 */
export function auditLine(request: AuditedRequest, stage: AuditStage, at: number, status?: number): string {
  const { user, outcome, actsAs, impersonated } = request;
  request.auditText ??= sharedText(request);
  const code = outcome?.status ?? status;
  const seen = user === undefined ? '{}' : userText(user);
  const acting = actsAs === undefined ? (impersonated ? seen : undefined) : userText(actsAs);
  const impersonation = acting === undefined ? '' : `,"impersonatedUser":${acting}`;
  const response = code === undefined ? '' : `,"responseStatus":${responseText(code, outcome)}`;
  const rest = `${impersonation}${response},"stageTimestamp":"${microTime(at)}","annotations":${annotationsText(request)}}`;
  return `${request.auditText},"stage":"${stage}","user":${seen}${rest}`;
}

const text = (value: unknown): string => asciiJSON(JSON.stringify(value));

/** What all stages of a request have in common, without its closing brace. */
function sharedText(request: AuditedRequest): string {
  const { info } = request;
  const userAgent = headerValue(request.headers, 'user-agent');
  const reference = info?.isResourceRequest ? objectReference(info) : undefined;
  const shared: Omit<AuditEvent, 'stage' | 'stageTimestamp' | 'user'> = {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: request.auditID,
    requestURI: foreignText(request.target),
    verb: info?.verb ?? name(request.method.toLowerCase()),
    sourceIPs: request.sourceIPs,
    ...(userAgent === undefined ? {} : { userAgent: foreignText(userAgent) }),
    ...(reference === undefined ? {} : { objectRef: reference }),
    requestReceivedTimestamp: microTime(request.receivedAt),
  };
  return text(shared).slice(0, -1);
}

const userText = oncePer((user: UserInfo): string => text(shown(user)));

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
    resource: name(info.resource),
    ...(info.namespace === '' ? {} : { namespace: name(info.namespace) }),
    ...(info.name === '' ? {} : { name: name(info.name) }),
    ...(info.apiGroup === '' ? {} : { apiGroup: name(info.apiGroup) }),
    apiVersion: name(info.apiVersion),
    ...(info.subresource === '' ? {} : { subresource: name(info.subresource) }),
  };
}

function responseText(code: number, outcome: AuditedRequest['outcome']): string {
  if (outcome?.code === undefined && outcome?.message === undefined) return `{"code":${code}}`;
  const status: NonNullable<AuditEvent['responseStatus']> = {
    code,
    ...(outcome.code === undefined ? {} : { reason: outcome.code }),
    ...(outcome.message === undefined ? {} : { message: foreignText(outcome.message) }),
  };
  return text(status);
}

function annotationsText({ identity, tenant, outcome }: AuditedRequest): string {
  const pairs: string[] = [];
  if (identity !== undefined) pairs.push(identityAnnotations(identity));
  if (tenant !== undefined) pairs.push(`"stonegate.dev/tenant":${text(tenant)}`);
  if (outcome?.aborted) pairs.push('"stonegate.dev/aborted":"true"');
  return `{${pairs.join()}}`;
}

/** As members of an object. */
const identityAnnotations = oncePer(({ auditAnnotations, authenticator }: Identity): string => {
  const given = Object.entries(auditAnnotations).map(([key, value]) => [key, name(value)]);
  return text({ ...Object.fromEntries(given), 'stonegate.dev/authenticator': authenticator }).slice(1, -1);
});

const name = (value: string): string => foreignText(value, MAX_NAME);

/** The second written last, up to its point: many events are of one. */
let written = { second: Number.NaN, text: '' };

/** metav1.MicroTime; the clock knows milliseconds. */
function microTime(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1_000);
  if (written.second !== second)
    written = { second, text: new Date(second * 1_000).toISOString().slice(0, -4) };
  const rest = String(Math.floor(milliseconds - second * 1_000)).padStart(3, '0');
  return `${written.text}${rest}000Z`;
}

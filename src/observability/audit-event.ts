/**
 * What is known of a request, as the texts of which a line with an `audit.k8s.io/v1` Event at level Metadata
 * is made: JSON in ASCII. `audit-log.ts` puts them in their order.
 * https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event
 */
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { RequestInfo } from '../kubernetes/request-info.ts';
import { RESERVED_EXTRA_KEY } from '../kubernetes/reserved-names.ts';
import { headerValue } from '../lib/header-list.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import { asciiJSON, foreignJSON, foreignText, untrustedText } from '../lib/untrusted-text.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { AuditedCrossing, ObservedRequest } from './request-observer.ts';

/** Annotates events of guests with the tenant that they have entered, or tried to enter. */
export const ENTERED_TENANT = 'stonegate.dev/entered-tenant';

/** The facts that an event is made from. */
export type AuditedRequest = Omit<ObservedRequest, 'exchange' | 'tenant'> & {
  readonly exchange: Pick<ObservedRequest['exchange'], 'method' | 'target' | 'headers'>;
  readonly tenant?: string;
  /** What its lines begin with, once one was made. */
  auditText?: string | undefined;
};

/** No name in Kubernetes is longer than 253 characters; what is, need not be repeated whole. */
const MAX_NAME = 512;

const text = (value: unknown): string => asciiJSON(JSON.stringify(value));

/**
 * What all stages of a request have in common, from its opening brace on. No object is made just to be
 * written out.
 */
export function sharedText({ auditID, exchange, info, sourceIPs, receivedAt }: AuditedRequest): string {
  const { method, target, headers } = exchange;
  const userAgent = headerValue(headers, 'user-agent');
  const agent = userAgent === undefined ? '' : `,"userAgent":"${foreignJSON(userAgent)}"`;
  const reference = info?.isResourceRequest ? objectReference(info) : '';
  const verb = info === undefined ? name(method.toLowerCase()) : name(info.verb);
  return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"${name(auditID)}","requestURI":"${foreignJSON(target)}","verb":"${verb}","sourceIPs":[${addresses(sourceIPs)}]${agent}${reference},"requestReceivedTimestamp":"${microTime(receivedAt)}"`;
}

/** Mostly one. */
function addresses(sourceIPs: readonly string[]): string {
  let list = '';
  for (const address of sourceIPs) list += list === '' ? `"${name(address)}"` : `,"${name(address)}"`;
  return list;
}

const IMPERSONATED = ',"impersonatedUser":';

/** The value of `user`, and `impersonatedUser` if there is one. */
export function usersText({ user, impersonator, impersonationSent }: AuditedRequest): string {
  if (user === undefined) return '{}';
  if (impersonator !== undefined) return `${userText(impersonator)}${IMPERSONATED}${impersonatedText(user)}`;
  return impersonationSent ? asThemselves(user) : userText(user);
}

/** Built once per user: with many groups it is most of a line. */
const userText = memoizeByReference((user: UserInfo): string => text(shown(user)));
const asThemselves = memoizeByReference(
  (user: UserInfo): string => `${userText(user)}${IMPERSONATED}${userText(user)}`,
);

/** The client has chosen it: any of its fields may hold a token that was pasted into the wrong place. */
const impersonatedText = memoizeByReference((user: UserInfo): string =>
  text(
    shown({
      username: untrustedText(user.username, MAX_NAME),
      uid: untrustedText(user.uid, MAX_NAME),
      groups: user.groups.map((group) => untrustedText(group, MAX_NAME)),
      extra: Object.fromEntries(Object.entries(user.extra).map(untrustedExtra)),
    }),
  ),
);

/** Clients cannot ask for reserved keys: what these hold comes from Stonegate. */
function untrustedExtra([key, values]: readonly [string, readonly string[]]): [string, readonly string[]] {
  if (RESERVED_EXTRA_KEY.test(key)) return [key, values];
  return [untrustedText(key, MAX_NAME), values.map((value) => untrustedText(value))];
}

function shown(user: UserInfo): Partial<UserInfo> {
  return {
    username: user.username,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    groups: user.groups,
    ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
  };
}

function objectReference(info: Extract<RequestInfo, { isResourceRequest: true }>): string {
  const namespace = info.namespace === '' ? '' : `,"namespace":"${name(info.namespace)}"`;
  const called = info.name === '' ? '' : `,"name":"${name(info.name)}"`;
  const group = info.apiGroup === '' ? '' : `,"apiGroup":"${name(info.apiGroup)}"`;
  const subresource = info.subresource === '' ? '' : `,"subresource":"${name(info.subresource)}"`;
  return `,"objectRef":{"resource":"${name(info.resource)}"${namespace}${called}${group},"apiVersion":"${name(info.apiVersion)}"${subresource}}`;
}

/** The response's field, from the comma before it on. */
export function responseText(code: number, outcome: AuditedRequest['outcome']): string {
  const reason = outcome?.code === undefined ? '' : `,"reason":${text(outcome.code)}`;
  // It may quote what a client asked to impersonate.
  const message = outcome?.message === undefined ? '' : `,"message":${text(untrustedText(outcome.message))}`;
  return `,"responseStatus":{"code":${code}${reason}${message}}`;
}

/** The end of a line, from the quote behind its time on. */
export function annotationsText(request: AuditedRequest): string {
  const { identity, tenant, crossing, outcome, ended } = request;
  const isSpecial = outcome?.aborted || ended !== undefined || crossing !== undefined;
  if (identity === undefined || isSpecial || hasMembers(outcome?.annotations)) return annotations(request);
  const last = lastAnnotations.get(identity);
  if (last !== undefined && last.tenant === tenant) return last.text;
  const made = annotations({ identity, tenant });
  lastAnnotations.set(identity, { tenant, text: made });
  return made;
}

/** With the tenant they were made for: an identity is of one as a rule. */
const lastAnnotations = new WeakMap<
  Identity,
  { readonly tenant: string | undefined; readonly text: string }
>();

type Annotated = { readonly tenant?: string | undefined } & Pick<
  AuditedRequest,
  'identity' | 'crossing' | 'outcome' | 'ended'
>;

function annotations({ identity, tenant, crossing, outcome, ended }: Annotated): string {
  const given = Object.entries({ ...identity?.auditAnnotations, ...outcome?.annotations }).map(
    ([key, value]) => [key, foreignText(value, MAX_NAME)] as const,
  );
  const pairs = text({
    ...Object.fromEntries(given),
    ...(identity === undefined ? {} : { 'stonegate.dev/authenticator': identity.authenticator }),
    ...(tenant === undefined ? {} : { 'stonegate.dev/tenant': tenant }),
    ...(crossing === undefined ? {} : crossingAnnotations(crossing)),
    ...(outcome?.aborted ? { 'stonegate.dev/aborted': 'true' } : {}),
    ...(ended === undefined ? {} : { 'stonegate.dev/ended': ended }),
  });
  return `","annotations":${pairs}}`;
}

function crossingAnnotations({ tenant, policy }: AuditedCrossing): Record<string, string> {
  return {
    [ENTERED_TENANT]: tenant,
    'stonegate.dev/policy': `${policy.form}:${policy.name}`,
    'stonegate.dev/policy-source': foreignText(policy.source, MAX_NAME),
  };
}

function hasMembers(object: object | undefined): boolean {
  return object !== undefined && Object.keys(object).length > 0;
}

const name = (value: string): string => foreignJSON(value, MAX_NAME);

/** What was written last: many events are of one second, and several of one millisecond. */
let second = { at: Number.NaN, text: '' };
let millisecond = { at: Number.NaN, text: '' };

/** metav1.MicroTime; the clock knows milliseconds. */
export function microTime(at: number): string {
  if (millisecond.at === at) return millisecond.text;
  const begun = Math.floor(at / 1_000);
  if (second.at !== begun) second = { at: begun, text: new Date(begun * 1_000).toISOString().slice(0, -4) };
  const rest = String(Math.floor(at - begun * 1_000)).padStart(3, '0');
  millisecond = { at, text: `${second.text}${rest}000Z` };
  return millisecond.text;
}

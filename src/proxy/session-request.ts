/**
 * A browser's request to the portal. It passes no stages, since nothing is forwarded for it; but the
 * observers see it, the limiter admits it and its response draws on the memory of responses, like the request
 * of Stonegate's own API that a page stands for.
 */
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { RequestInfo, TenantName } from '../kubernetes/request-info.ts';
import type { UpstreamResponse } from '../kubernetes/upstream-ports.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { ObservedRequest, Outcome } from '../observability/request-observer.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { Refusal, ServingStages } from './delivery.ts';
import type { KubernetesIdentity } from './identity-source.ts';
import { OWN_GROUP, OWN_VERSION, ownPath } from './own-api.ts';
import type { OwnRequest } from './portal-page.ts';
import { clientAddresses } from './request/client-address.ts';
import { writeResponse } from './response/write-response.ts';

/** Annotates audit events with the name of the session; the event of its sign-in has the same. */
const SESSION = 'stonegate.dev/session';

export interface SessionUser extends KubernetesIdentity {
  /** Its authenticator is that of this request: a session's own is the portal. */
  readonly identity: Identity;
  /** Tells the session from others and is no secret. */
  readonly session: string;
}

export type SessionStages = Pick<
  ServingStages,
  'clock' | 'random' | 'trustedProxies' | 'limiter' | 'responseMemory' | 'observer'
>;

export interface SessionResponse extends UpstreamResponse {
  /** What the observers learn if this refuses something. */
  readonly refusal?: Refusal;
}

/** The facts of a request for the observers; who sent it is added when it is known. */
export class SessionRequest implements ObservedRequest {
  readonly exchange: ObservedRequest['exchange'];
  readonly auditID: string;
  readonly receivedAt: number;
  readonly sourceIPs: readonly [string, ...string[]];
  info: RequestInfo;
  identity?: Identity;
  tenant?: TenantName;
  user?: UserInfo;
  outcome?: Outcome;
  /** See `observability/audit-event.ts`. */
  auditText: string | undefined;
  isObserved = false;

  /** @param path that the observers see: without a query, and without a secret */
  constructor(exchange: Exchange, path: string, { clock, random, trustedProxies }: SessionStages) {
    const { method, headers, response, peerAddress } = exchange;
    this.exchange = { method, target: path, headers, response, bytesReceived: 0 };
    this.auditID = random.uuid();
    this.receivedAt = clock.now();
    this.sourceIPs = clientAddresses(peerAddress, headers, trustedProxies);
    this.info = { isResourceRequest: false, verb: method.toLowerCase(), rawPath: path, rawQuery: '' };
  }
}

/** Records whose request it is. */
export function setUser(request: SessionRequest, { identity, tenant, user, session }: SessionUser): void {
  const auditAnnotations = { ...identity.auditAnnotations, [SESSION]: session };
  Object.assign(request, { identity: { ...identity, auditAnnotations }, tenant, user });
}

/**
 * The only way to act for the user of a session.
 *
 * @param own what is done; absent to sign in, which costs nothing
 * @param isPaid whether an earlier request has paid for this one
 * @throws StatusError TenantRateExceeded, UserRateExceeded
 */
export async function asSession(
  request: SessionRequest,
  user: SessionUser,
  stages: SessionStages,
  own?: OwnRequest,
  isPaid = false,
): Promise<void> {
  setUser(request, user);
  if (own !== undefined) {
    request.info = infoOf(own);
    request.auditText = undefined;
  }
  observe(request, stages);
  if (own !== undefined && !isPaid) await stages.limiter?.admit(user, request.info);
}

/** @param name of an object; it is not in the path, since a user has entered it */
function infoOf({ verb, resource, namespace = '', name = '' }: OwnRequest): RequestInfo {
  return {
    ...{ isResourceRequest: true, verb, resource: resource.name, subresource: '', namespace, name },
    ...{ apiPrefix: 'apis', apiGroup: OWN_GROUP, apiVersion: OWN_VERSION, tenant: '', tenantOffset: 0 },
    ...{ rawPath: ownPath(resource.name), rawQuery: '' },
  };
}

function observe(request: SessionRequest, { observer }: SessionStages): void {
  if (!request.isObserved) observer.requestReceived(request);
  request.isObserved = true;
}

/**
 * Serves a request whose response is made whole.
 *
 * @param refuse makes the response to what `answer`, or the memory, throws; it is short
 */
export async function serveSession(
  request: SessionRequest,
  exchange: Exchange,
  stages: SessionStages,
  answer: () => Promise<SessionResponse>,
  refuse: (error: unknown) => Promise<SessionResponse>,
): Promise<void> {
  const { responseMemory, observer } = stages;
  let response: SessionResponse;
  try {
    const made = await answer();
    response = responseMemory.charged(request.tenant ?? '', made);
  } catch (error) {
    response = { ...(await refuse(error)), release() {} };
  }
  observe(request, stages);
  const { auditID, tenant = '' } = request;
  const written = writeResponse({ exchange, auditID, tenant }, response, responseMemory);
  request.outcome = { ...response.refusal, ...written };
  observer.responseComplete(request);
}

/**
 * The way of a request, all of it: each stage takes what the one before made and returns more. Whatever is
 * thrown on the way becomes a Kubernetes Status in one place, and audit and metrics see every end.
 * The drawing of it, with the Status of each exit, is `docs/lifecycle.md`.
 */
import type { AdmissionPlugin } from '../admission/admission.ts';
import { type Authenticator, authenticate } from '../authentication/authenticator.ts';
import { credentialOf } from '../authentication/credential.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { StatusError } from '../errors/status-error.ts';
import { type StatusAnswer, toStatus } from '../errors/to-status.ts';
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Answer, Answerer } from './answerer.ts';
import { asAuthorized } from './authorized.ts';
import { clientAddresses, type TrustedProxies } from './client-address.ts';
import { cleanClientHeaders } from './client-headers.ts';
import type { Exchange, ResponseWriter } from './exchange.ts';
import { impersonate } from './impersonate.ts';
import { isWorkload, parseRequestInfo } from './request-info.ts';
import type { Outcome, RequestObserver, RequestRecord } from './request-observer.ts';
import type {
  Authenticated,
  Authorized,
  Identified,
  Outgoing,
  Received,
  Routed,
  Scoped,
} from './request-state.ts';
import type { Forwarder, RelayHooks, RelayResult, Tunneller, UpstreamRequest } from './upstream.ts';

/** Everything the stages need; built once for a configuration, in `app.ts`. */
export interface Pipeline {
  readonly clock: Clock;
  readonly random: Random;
  readonly trustedProxies: TrustedProxies;
  readonly observer: RequestObserver;
  readonly authenticators: readonly Authenticator[];
  readonly mode: TenancyMode;
  readonly authorizers: readonly Authorizer[];
  readonly admission: readonly AdmissionPlugin[];
  /** @throws StatusError TenantRateExceeded */
  readonly limitTenant: (tenant: string) => void;
  /** What the API server takes of request headers in all, in bytes. */
  readonly maxHeaderBytes: number;
  readonly answerers: readonly Answerer[];
  readonly forwarder: Forwarder;
  readonly tunneller: Tunneller;
  readonly writeStatus: (response: ResponseWriter, answer: StatusAnswer, auditID: string) => void;
}

/** Serves one request to its end. Never throws. */
export async function serveRequest(exchange: Exchange, pipeline: Pipeline): Promise<void> {
  const received = receive(exchange, pipeline);
  const record = recordOf(received);
  try {
    const identified = identify(received, record, pipeline);
    const authenticated = await authenticateRequest(identified, record, pipeline);
    const scoped = resolveTenant(authenticated, record, pipeline);
    pipeline.observer.requestReceived(record);
    const authorized = await authorizeRequest(scoped, pipeline);
    for (const plugin of pipeline.admission) plugin.admit(authorized.exchange, authorized.info);
    pipeline.limitTenant(authorized.tenant);
    const routed = rewrite(authorized, pipeline);
    const outgoing = impersonateRequest(routed, pipeline);
    record.outcome = relayed(await deliver(outgoing, record, pipeline));
  } catch (error) {
    if (record.user === undefined) pipeline.observer.requestReceived(record);
    record.outcome = refuse(error, received, pipeline);
  }
  pipeline.observer.responseComplete(record);
}

function receive(exchange: Exchange, { clock, random, trustedProxies }: Pipeline): Received {
  return {
    exchange,
    auditID: random.uuid(),
    receivedAt: clock.now(),
    sourceIPs: clientAddresses(exchange.peerAddress, exchange.headers, trustedProxies),
  };
}

function identify(received: Received, record: RequestRecord, { mode }: Pipeline): Identified {
  const { method, target } = received.exchange;
  const info = parseRequestInfo(method, target, { readsTenantFromPath: mode.readsTenantFromPath });
  record.info = info;
  return { ...received, info };
}

async function authenticateRequest(
  identified: Identified,
  record: RequestRecord,
  { authenticators }: Pipeline,
): Promise<Authenticated> {
  const { exchange, sourceIPs } = identified;
  const identity = await authenticate(authenticators, credentialOf(exchange.headers), {
    source: sourceIPs[0],
    signal: exchange.signal,
  });
  record.identity = identity;
  return { ...identified, identity };
}

function resolveTenant(authenticated: Authenticated, record: RequestRecord, { mode }: Pipeline): Scoped {
  const tenant = mode.tenantOf(authenticated.identity);
  record.tenant = tenant;
  const user = mode.userOf(authenticated.identity, tenant);
  record.user = user;
  return { ...authenticated, tenant, user };
}

async function authorizeRequest(scoped: Scoped, { authorizers }: Pipeline): Promise<Authorized> {
  const { exchange, info, tenant, user } = scoped;
  return asAuthorized(scoped, authorizers, {
    info,
    method: exchange.method,
    user,
    tenant,
    upgrade: exchange.upgrade?.protocol,
    signal: exchange.signal,
  });
}

function rewrite(authorized: Authorized, { mode }: Pipeline): Routed {
  const { info, exchange, tenant, user } = authorized;
  return { ...authorized, route: mode.route(info, exchange.method, tenant, user) };
}

function impersonateRequest(routed: Routed, { maxHeaderBytes }: Pipeline): Outgoing {
  const cleaned = cleanClientHeaders(routed.exchange.headers);
  const headers = impersonate(cleaned, routed.user, {
    maxHeaderBytes,
    auditID: routed.auditID,
    clientAddress: routed.sourceIPs[0],
  });
  return { ...routed, headers };
}

/** The last stage's three ways: answer, tunnel, forward. */
async function deliver(outgoing: Outgoing, record: RequestRecord, pipeline: Pipeline): Promise<RelayResult> {
  const answer = await firstAnswer(outgoing, pipeline.answerers);
  if (answer !== undefined) return writeAnswer(outgoing, answer);
  const { exchange, route, info } = outgoing;
  if (route.kind !== 'forward')
    throw new StatusError('InvariantBroken', 'Internal error occurred: nobody answers');
  record.impersonated = true;
  const request: UpstreamRequest = {
    method: exchange.method,
    target: route.query === '' ? route.path : `${route.path}?${route.query}`,
    headers: outgoing.headers,
    longRunning: info.longRunning !== undefined,
    endless: info.longRunning === 'watch' || info.longRunning === 'log',
    proxied: isWorkload(info),
  };
  const hooks: RelayHooks = {
    onHead: (status) => {
      if (info.longRunning !== undefined) pipeline.observer.responseStarted(record, status);
    },
  };
  if (exchange.upgrade !== undefined)
    return pipeline.tunneller.tunnel(request, exchange, exchange.upgrade, hooks);
  return pipeline.forwarder.forward(request, exchange, hooks);
}

async function firstAnswer(outgoing: Outgoing, answerers: readonly Answerer[]): Promise<Answer | undefined> {
  for (const answerer of answerers) {
    const answer = await answerer.answer(outgoing);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

function writeAnswer({ exchange, auditID }: Outgoing, answer: Answer): RelayResult {
  const { response } = exchange;
  if (response.closed) return { status: answer.status, aborted: true };
  response.writeHead(answer.status, [
    ...answer.headers,
    ['Content-Length', String(answer.body.length)],
    ['Audit-Id', auditID],
  ]);
  response.end(answer.body);
  return { status: answer.status, aborted: false };
}

function relayed({ status, aborted }: RelayResult): Outcome {
  return { status, aborted };
}

/** The one place where an error becomes an answer. */
function refuse(error: unknown, { exchange, auditID }: Received, { writeStatus }: Pipeline): Outcome {
  const answer = toStatus(error, auditID);
  const { response } = exchange;
  const outcome = {
    message: answer.status.message,
    error,
    ...(error instanceof StatusError ? { code: error.code } : { code: 'InternalError' as const }),
  };
  if (response.closed) return { ...outcome, status: 0, aborted: true };
  if (response.headersSent) {
    response.destroy();
    return { ...outcome, status: answer.status.code, aborted: true };
  }
  writeStatus(response, answer, auditID);
  return { ...outcome, status: answer.status.code, aborted: false };
}

function recordOf({ exchange, auditID, receivedAt, sourceIPs }: Received): RequestRecord {
  const { method, target, httpVersion, headers } = exchange;
  return { auditID, receivedAt, method, target, httpVersion, headers, sourceIPs };
}

/**
 * The last stage: a feature's handler responds to the request, a tunnel is opened for it, or it is forwarded.
 * A body for which there are rules is read before it is forwarded.
 */

import { StatusError } from '../errors/status-error.ts';
import { type StatusResponse, toStatus } from '../errors/to-status.ts';
import { isWorkload } from '../kubernetes/request-info.ts';
import type {
  Forwarder,
  RelayHooks,
  RelayResult,
  Tunneller,
  UpstreamRequest,
} from '../kubernetes/upstream-ports.ts';
import type { ResponseWriter } from '../lib/exchange.ts';
import type { InFlight, InFlightCounter } from '../lib/in-flight.ts';
import { currentTrace } from '../lib/request-trace.ts';
import type { ResponseMemory } from '../limits/response-memory.ts';
import type { Outcome, RequestObserver } from '../observability/request-observer.ts';
import { accountOf } from './acting-tenant.ts';
import type { ForwardFirst, Handled, OwnResponse, RequestHook, RouteHandler } from './feature.ts';
import { isServedByAPIServer } from './impersonation/built-in-groups.ts';
import { isFilteredWatch } from './request/accepted-types.ts';
import type { BodyInspection, Inspected } from './request/inspect-body.ts';
import { type Identified, type Outgoing, type Received, setImpersonationSent } from './request-context.ts';
import { writeStream } from './response/response-stream.ts';
import { writeResponse } from './response/write-response.ts';
import { noHandler, type RouteKind } from './route-kind.ts';
import { requireScope, scopeRefusal } from './scope-guard.ts';
import type { Stages } from './stages.ts';
import type { StreamRegistry } from './streams/stream-registry.ts';

/** The stages with what the last one and the observers need: all that `serveRequest` uses. */
export interface ServingStages extends Stages {
  readonly observer: RequestObserver;
  readonly bodies: BodyInspection;
  readonly forwarder: Forwarder;
  readonly tunneller: Tunneller;
  /** Counts requests that are not yet handed to the API server: a generation waits for them. */
  readonly undecided: InFlightCounter;
  /** Shared by all requests of the process; survives a reload. */
  readonly streams: StreamRegistry;
  /** Bounds the responses of handlers. Shared by all requests of the process. */
  readonly responseMemory: ResponseMemory;
  readonly writeStatus: (response: ResponseWriter, status: StatusResponse, auditID: string) => void;
}

/** The handlers of these routes return only what the user may have, within the scope of an access token. */
const FILTERED_ROUTES: ReadonlySet<RouteKind> = new Set(['namespaces', 'all-namespaces']);

/** A request on its way to the last stage. */
export interface Delivery {
  readonly outgoing: Outgoing;
  readonly stages: ServingStages;
  /** Released once the request is decided: one to forward, when its body has been inspected. */
  readonly undecided: InFlight;
  /** Given for a stream. */
  readonly hooks?: RelayHooks;
}

/** @throws StatusError as the chosen way does */
export function deliver(delivery: Delivery): Promise<RelayResult> {
  const { outgoing, stages } = delivery;
  const handler = stages.handlers[outgoing.kind];
  if (handler === undefined) return forward(delivery);
  if (!FILTERED_ROUTES.has(outgoing.kind)) requireScope(outgoing, stages.mode);
  return handle(delivery, handler);
}

async function handle(delivery: Delivery, handler: RouteHandler): Promise<RelayResult> {
  const { outgoing, stages } = delivery;
  currentTrace()?.stage('handle');
  const release = stages.bodies.reserve(outgoing);
  let handled: Handled;
  try {
    handled = await handler(outgoing);
  } finally {
    release?.();
  }
  return write(delivery, handled);
}

function write(delivery: Delivery, handled: Handled): RelayResult | Promise<RelayResult> {
  if (handled === undefined) return forward(delivery);
  return 'insteadOfForbidden' in handled ? forwardFirst(delivery, handled) : writeOwn(delivery, handled);
}

function writeOwn(
  { outgoing, stages: { responseMemory }, undecided, hooks }: Delivery,
  response: OwnResponse,
): RelayResult | Promise<RelayResult> {
  if ('body' in response) return writeResponse(outgoing, response, responseMemory);
  undecided.release();
  return writeStream(outgoing, response, responseMemory, hooks);
}

function forward(delivery: Delivery): Promise<RelayResult> {
  currentTrace()?.stage('forward');
  const inspection = delivery.stages.bodies.inspect(delivery.outgoing);
  return inspection === undefined ? send(delivery) : sendInspected(delivery, inspection);
}

/** Forwards the request; the handler's response replaces a 403 of the API server, or of the scope. */
async function forwardFirst(delivery: Delivery, { insteadOfForbidden }: ForwardFirst): Promise<RelayResult> {
  const { outgoing, stages, undecided, hooks } = delivery;
  let isForbidden = scopeRefusal(outgoing, stages.mode) !== undefined;
  if (!isForbidden) {
    const onForbidden = () => {
      isForbidden = true;
      return 'withheld' as const;
    };
    const onHead = (status: number) => {
      undecided.release();
      hooks?.onHead(status);
    };
    const request = upstreamRequest(delivery, { onForbidden });
    setImpersonationSent(outgoing);
    const relayed = await stages.forwarder.forward(request, outgoing.exchange, { onHead });
    if (!isForbidden) return relayed;
  }
  const response = await insteadOfForbidden();
  return response === undefined ? send(delivery) : writeOwn(delivery, response);
}

async function sendInspected(delivery: Delivery, inspection: Promise<Inspected>): Promise<RelayResult> {
  const inspected = await inspection;
  try {
    return await send(delivery, inspected);
  } finally {
    inspected.release();
  }
}

/**
 * Forwards the request, or opens a tunnel for it. The features' `onHead` is not called for streams, which
 * change nothing.
 *
 * @param inspected what is sent in place of the client's body
 */
function send(delivery: Delivery, inspected?: Inspected): Promise<RelayResult> {
  const { outgoing, stages, undecided, hooks } = delivery;
  const { exchange } = outgoing;
  const hook = requestHook(outgoing, stages);
  const request = upstreamRequest(delivery, hook, inspected);
  const { onHead, completed } = hook;
  const relayHooks = hooks ?? (onHead === undefined ? NO_HOOKS : { onHead });
  setImpersonationSent(outgoing);
  const result =
    exchange.upgrade === undefined
      ? stages.forwarder.forward(request, exchange, relayHooks)
      : stages.tunneller.tunnel(request, exchange, exchange.upgrade, relayHooks);
  undecided.release();
  return completed === undefined ? result : result.then(completed);
}

const NO_HOOKS: RelayHooks = { onHead() {} };
const NO_HOOK: RequestHook = {};

function requestHook(outgoing: Outgoing, { responseHooks }: ServingStages): RequestHook {
  let hook = NO_HOOK;
  for (const hookFor of responseHooks) {
    const another = hookFor(outgoing);
    if (another !== undefined) hook = hook === NO_HOOK ? another : { ...hook, ...another };
  }
  return hook;
}

function upstreamRequest(
  { outgoing, stages: { mode } }: Delivery,
  { onForbidden, onCreated }: RequestHook,
  inspected?: Inspected,
): UpstreamRequest {
  const { exchange, route, info, sender, upstreamHeaders, stream } = outgoing;
  if (route.kind !== 'forward') throw noHandler();
  requireScope(outgoing, mode);
  const { longRunning } = info;
  return {
    account: accountOf(outgoing),
    sender,
    method: exchange.method,
    target: route.query === '' ? route.path : `${route.path}?${route.query}`,
    headers: inspected?.headers ?? upstreamHeaders,
    longRunning: longRunning !== undefined,
    endless: longRunning === 'watch' || longRunning === 'log',
    ...(stream && { ending: stream }),
    proxied: isWorkload(info),
    dropsBookmarks: isFilteredWatch(info, mode),
    servedByAPIServer: isServedByAPIServer(info),
    ...(inspected && { body: inspected.body }),
    ...(onForbidden && { onForbidden }),
    ...(onCreated && { onCreated }),
    ...(info.addressed && { locationPrefix: info.addressed.prefix }),
  };
}

/**
 * The API server no longer accepts the token, so what is cached of it no longer counts. Behind `proxy` the
 * 401 is a workload's.
 */
export function forgetRefusedToken(
  { sender, identity, info }: Outgoing,
  { authenticators }: Pick<Stages, 'authenticators'>,
): void {
  if (sender.kind !== 'client' || isWorkload(info)) return;
  authenticators.find(({ name }) => name === identity.authenticator)?.forget?.(sender.token);
}

/**
 * Responds with a document that needs no user.
 *
 * @returns undefined if the request is for none
 */
export function publish(
  { exchange, auditID, info }: Identified,
  { publicDocuments }: Pick<ServingStages, 'publicDocuments'>,
): Outcome | undefined {
  const { method, upgrade, response } = exchange;
  if (upgrade !== undefined || info.addressed !== undefined) return undefined;
  const document = method === 'GET' || method === 'HEAD' ? publicDocuments.get(info.rawPath) : undefined;
  if (document === undefined) return undefined;
  const { status, headers, body } = document;
  if (response.closed) return { status: 0, aborted: true };
  response.writeHead(status, [...headers, ['Content-Length', String(body.length)], ['Audit-Id', auditID]]);
  response.end(body);
  return { status, aborted: false };
}

/** What the observers learn of a refusal. */
export type Refusal = Omit<Outcome, 'status' | 'aborted'>;

export function refusalOf(error: unknown, { status: { message } }: StatusResponse): Refusal {
  return {
    message,
    error,
    ...(error instanceof StatusError
      ? { code: error.code, annotations: error.auditAnnotations }
      : { code: 'InternalError' }),
  };
}

/** Converts an error to a response of the API; no other code does. */
export function refuse(
  error: unknown,
  { exchange, auditID }: Received,
  writeStatus: ServingStages['writeStatus'],
): Outcome {
  const refusal = toStatus(error, auditID);
  const { response } = exchange;
  const { code: status } = refusal.status;
  const outcome = refusalOf(error, refusal);
  if (response.closed) return { ...outcome, status: 0, aborted: true };
  if (response.headersSent) {
    response.destroy();
    return { ...outcome, status, aborted: true };
  }
  writeStatus(response, refusal, auditID);
  return { ...outcome, status, aborted: false };
}

/** Whether the API server refused the request because of Stonegate's own rights. */
export function isRefusalOfStonegate(error: unknown): boolean {
  return error instanceof StatusError && error.code === 'UpstreamRefusedCredential';
}

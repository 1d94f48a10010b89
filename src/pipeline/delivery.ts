/**
 * The last stage: Stonegate answers a request itself, opens a tunnel for it, or forwards it. A body that an
 * admission plugin has to see is read before it is forwarded.
 */
import type { TenantName } from '../api/identity.ts';
import { isWorkload } from '../api/request-info.ts';
import { accountOf, actingTenant } from '../authorization/acting-tenant.ts';
import { StatusError } from '../errors/status-error.ts';
import { type StatusResponse, toStatus } from '../errors/to-status.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import type { InFlight, InFlightCounter } from '../lib/in-flight.ts';
import { discoveryChange } from '../tenancy/discovery-paths.ts';
import { isServedByAPIServer } from './impersonation/built-in-groups.ts';
import type {
  Forwarder,
  Outcome,
  RelayHooks,
  RelayResult,
  RequestObserver,
  ResponseWriter,
  Tunneller,
  UpstreamRequest,
  UpstreamResponse,
} from './ports.ts';
import type { ForbiddenHiding, ForbiddenHook } from './rbac/hide-forbidden.ts';
import { isFilteredWatch } from './request/accepted-types.ts';
import type { BodyInspection, Inspected } from './request/inspect-body.ts';
import { type Outgoing, type Received, setImpersonationSent } from './request-context.ts';
import { type StreamedAnswer, writeStream } from './response/answer-stream.ts';
import { writeResponse } from './response/write-response.ts';
import type { Stages } from './stages.ts';

type Answer = UpstreamResponse | StreamedAnswer | undefined;

/** The request is forwarded; only a 403 of the API server is replaced. */
export interface ForwardFirst {
  /** @returns undefined for the 403 after all */
  insteadOfForbidden(): Promise<Answer>;
}

export type Answered = Answer | ForwardFirst;

/** Responds to a kind of requests instead of the API server: discovery, self reviews, Stonegate's own API. */
export interface Answerer<A = Answered> {
  /** Absent if guests of other tenants are not answered: most answers show what only a tenant's users see. */
  readonly servesGuests?: true;
  /**
   * @returns undefined, at once, if the request is not of this kind: nearly every request. A promise of
   *   undefined if that is known only later.
   */
  answer(outgoing: Outgoing): Promise<A> | undefined;
}

/** Reads what requests have created. */
export interface CreationHooks {
  /** @returns as `onCreated` of `UpstreamRequest`; undefined, at once, if nothing is to be read */
  creationHook(outgoing: Outgoing): UpstreamRequest['onCreated'];
}

/** What a request needs: the stages, the observers, and the last stage's three ways. */
export interface Pipeline extends Stages {
  readonly observer: RequestObserver;
  readonly answerers: readonly Answerer[];
  readonly bodies: BodyInspection;
  /** Absent unless `authorization.hideForbidden` is on. */
  readonly hiding?: ForbiddenHiding;
  /** Absent unless lists of namespaces are filtered. */
  readonly creations?: CreationHooks;
  readonly forwarder: Forwarder;
  readonly tunneller: Tunneller;
  /** Requests not yet handed to the API server; the others need little of the pipeline any more. */
  readonly undecided: InFlightCounter;
  /** Of the process: it outlives a reload. */
  readonly streams: StreamRegistry;
  /** For what answerers return; of the process. */
  readonly responseMemory: ResponseMemory;
  /** Called when a request has changed a tenant's discovery; every tenant's if it is undefined. */
  readonly discoveryChanged: (owner: TenantName | undefined) => void;
  readonly writeStatus: (response: ResponseWriter, status: StatusResponse, auditID: string) => void;
}

/**
 * A request to forward is decided once its body has been inspected: then `undecided` is released.
 *
 * @param hooks of a stream
 * @throws StatusError as the chosen way does
 */
export function deliver(
  outgoing: Outgoing,
  pipeline: Pipeline,
  undecided: InFlight,
  hooks?: RelayHooks,
): Promise<RelayResult> {
  return answer(outgoing, pipeline, undecided, hooks) ?? forward(outgoing, pipeline, undecided, hooks);
}

function forward(
  outgoing: Outgoing,
  pipeline: Pipeline,
  undecided: InFlight,
  hooks: RelayHooks | undefined,
): Promise<RelayResult> {
  const inspection = pipeline.bodies.inspect(outgoing);
  if (inspection === undefined) return send(outgoing, pipeline, undecided, hooks);
  return sendInspected(inspection, outgoing, pipeline, undecided, hooks);
}

/** @param from the first answerer that has not been asked */
function answer(
  outgoing: Outgoing,
  pipeline: Pipeline,
  undecided: InFlight,
  hooks: RelayHooks | undefined,
  from = 0,
): Promise<RelayResult> | undefined {
  const { answerers, responseMemory } = pipeline;
  for (let at = from; at < answerers.length; at += 1) {
    const answerer = answerers[at];
    if (outgoing.crossing !== undefined && answerer?.servesGuests !== true) continue;
    const answered = answerer?.answer(outgoing);
    if (answered === undefined) continue;
    return answered.then((response) => {
      if (response === undefined)
        return (
          answer(outgoing, pipeline, undecided, hooks, at + 1) ??
          forward(outgoing, pipeline, undecided, hooks)
        );
      if ('insteadOfForbidden' in response)
        return forwardFirst(outgoing, pipeline, undecided, hooks, response);
      return write(outgoing, response, responseMemory, undecided, hooks);
    });
  }
  return undefined;
}

function write(
  outgoing: Outgoing,
  response: UpstreamResponse | StreamedAnswer,
  memory: ResponseMemory,
  undecided: InFlight,
  hooks: RelayHooks | undefined,
): RelayResult | Promise<RelayResult> {
  if ('body' in response) return writeResponse(outgoing, response, memory);
  undecided.release();
  return writeStream(outgoing, response, memory, hooks);
}

/** It needs what decided the request until the API server's response has begun. */
async function forwardFirst(
  outgoing: Outgoing,
  pipeline: Pipeline,
  undecided: InFlight,
  hooks: RelayHooks = NO_HOOKS,
  { insteadOfForbidden }: ForwardFirst,
): Promise<RelayResult> {
  let isForbidden = false;
  const onForbidden = () => {
    isForbidden = true;
    return 'withheld' as const;
  };
  const onHead = (status: number) => {
    undecided.release();
    hooks.onHead(status);
  };
  const request = { ...upstreamRequest(outgoing, pipeline, undefined, undefined), onForbidden };
  setImpersonationSent(outgoing);
  const relayed = await pipeline.forwarder.forward(request, outgoing.exchange, { onHead });
  if (!isForbidden) return relayed;
  const response = await insteadOfForbidden();
  if (response === undefined) return send(outgoing, pipeline, undecided, hooks);
  return write(outgoing, response, pipeline.responseMemory, undecided, hooks);
}

async function sendInspected(
  inspection: Promise<Inspected>,
  outgoing: Outgoing,
  pipeline: Pipeline,
  undecided: InFlight,
  hooks: RelayHooks | undefined,
): Promise<RelayResult> {
  const inspected = await inspection;
  try {
    return await send(outgoing, pipeline, undecided, hooks, inspected);
  } finally {
    inspected.release();
  }
}

/**
 * Forwards the request, or opens a tunnel for it.
 *
 * @param inspected what is sent in place of the client's body
 */
function send(
  outgoing: Outgoing,
  pipeline: Pipeline,
  undecided: InFlight,
  hooks: RelayHooks = hooksOf(outgoing, pipeline),
  inspected?: Inspected,
): Promise<RelayResult> {
  const { exchange } = outgoing;
  const forbidden = outgoing.crossing === undefined ? pipeline.hiding?.hookFor(outgoing) : undefined;
  const request = upstreamRequest(outgoing, pipeline, inspected, forbidden);
  setImpersonationSent(outgoing);
  const result =
    exchange.upgrade === undefined
      ? pipeline.forwarder.forward(request, exchange, hooks)
      : pipeline.tunneller.tunnel(request, exchange, exchange.upgrade, hooks);
  undecided.release();
  return forbidden === undefined ? result : result.then((relayed) => forbidden.completed(relayed));
}

/** Only of a stream is it reported that its response has begun. */
const NO_HOOKS: RelayHooks = { onHead() {} };

function hooksOf(outgoing: Outgoing, { mode, discoveryChanged }: Pipeline): RelayHooks {
  const change = discoveryChange(outgoing.info, actingTenant(outgoing), mode);
  if (change === undefined) return NO_HOOKS;
  return {
    onHead(status) {
      // A server that failed may still have written.
      if (status < 300 || status >= 500) discoveryChanged(change.owner);
    },
  };
}

function upstreamRequest(
  outgoing: Outgoing,
  { mode, creations }: Pipeline,
  inspected: Inspected | undefined,
  forbidden: ForbiddenHook | undefined,
): UpstreamRequest {
  const { exchange, route, info, sender, upstreamHeaders, stream, crossing } = outgoing;
  if (route.kind !== 'forward')
    throw new StatusError('InvariantBroken', 'Internal error occurred: no answerer for the request');
  const { longRunning } = info;
  const onCreated = crossing === undefined ? creations?.creationHook(outgoing) : undefined;
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
    ...(forbidden && { onForbidden: (body) => forbidden.onForbidden(body) }),
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

/** Converts an error to a response; no other code does. */
export function refuse(
  error: unknown,
  { exchange, auditID }: Received,
  writeStatus: Pipeline['writeStatus'],
): Outcome {
  const refusal = toStatus(error, auditID);
  const { response } = exchange;
  const { message, code: status } = refusal.status;
  const outcome = {
    message,
    error,
    ...(error instanceof StatusError
      ? { code: error.code, annotations: error.auditAnnotations }
      : { code: 'InternalError' as const }),
  };
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

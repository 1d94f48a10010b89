/**
 * The last stage: Stonegate answers a request itself, opens a tunnel for it, or forwards it. A body that an
 * admission plugin has to see is read before it is forwarded.
 */
import type { TenantName } from '../api/identity.ts';
import { isWorkload } from '../api/request-info.ts';
import { StatusError } from '../errors/status-error.ts';
import { type StatusResponse, toStatus } from '../errors/to-status.ts';
import type { OpenStream } from '../flowcontrol/open-stream.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import type { InFlight, InFlightCounter } from '../lib/in-flight.ts';
import { discoveryChange } from '../tenancy/discovery-paths.ts';
import { isFilteredWatch } from './accepted-types.ts';
import { isServedByAPIServer } from './built-in-groups.ts';
import type { BodyInspection, Inspected } from './inspect-body.ts';
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
import {
  type Outgoing,
  type Received,
  type RequestContext,
  setImpersonationSent,
} from './request-context.ts';
import type { Stages } from './stages.ts';

/** Responds to a kind of requests instead of the API server: discovery, self reviews, Stonegate's own API. */
export interface Answerer {
  /** @returns undefined, at once, if the request is not of this kind: nearly every request */
  answer(outgoing: Outgoing): Promise<UpstreamResponse> | undefined;
}

/** What a request needs: the stages, the observers, and the last stage's three ways. */
export interface Pipeline extends Stages {
  readonly observer: RequestObserver;
  readonly answerers: readonly Answerer[];
  readonly bodies: BodyInspection;
  readonly forwarder: Forwarder;
  readonly tunneller: Tunneller;
  /** Requests not yet handed to the API server; the others need little of the pipeline any more. */
  readonly undecided: InFlightCounter;
  /** Of the process: it outlives a reload. */
  readonly streams: StreamRegistry;
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
  const answered = answer(outgoing, pipeline);
  if (answered !== undefined) return answered;
  const inspection = pipeline.bodies.inspect(outgoing);
  if (inspection === undefined) return send(outgoing, pipeline, undecided, hooks);
  return sendInspected(inspection, outgoing, pipeline, undecided, hooks);
}

function answer(outgoing: Outgoing, { answerers }: Pipeline): Promise<RelayResult> | undefined {
  for (const answerer of answerers) {
    const response = answerer.answer(outgoing);
    if (response !== undefined) return response.then((made) => writeResponse(outgoing, made));
  }
  return undefined;
}

function writeResponse(
  { exchange, auditID }: Outgoing,
  { status, headers, body }: UpstreamResponse,
): RelayResult {
  const { response } = exchange;
  if (response.closed) return { status, aborted: true };
  response.writeHead(status, [...headers, ['Content-Length', String(body.length)], ['Audit-Id', auditID]]);
  response.end(body);
  return { status, aborted: false };
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
  const request = upstreamRequest(outgoing, pipeline, inspected);
  setImpersonationSent(outgoing);
  const result =
    exchange.upgrade === undefined
      ? pipeline.forwarder.forward(request, exchange, hooks)
      : pipeline.tunneller.tunnel(request, exchange, exchange.upgrade, hooks);
  undecided.release();
  return result;
}

/** Only of a stream is it reported that its response has begun. */
const NO_HOOKS: RelayHooks = { onHead() {} };

function hooksOf({ info, tenant }: Outgoing, { mode, discoveryChanged }: Pipeline): RelayHooks {
  const change = discoveryChange(info, tenant, mode);
  if (change === undefined) return NO_HOOKS;
  return {
    onHead(status) {
      // A server that failed may still have written.
      if (status < 300 || status >= 500) discoveryChanged(change.owner);
    },
  };
}

function upstreamRequest(
  { exchange, route, info, sender, tenant, upstreamHeaders, stream }: Outgoing,
  { mode }: Pipeline,
  inspected: Inspected | undefined,
): UpstreamRequest {
  if (route.kind !== 'forward')
    throw new StatusError('InvariantBroken', 'Internal error occurred: no answerer for the request');
  const { longRunning } = info;
  return {
    account: { kind: 'tenant', tenant },
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

/**
 * A long-running request from its decision to its end. As soon as its response has begun it refers to nothing
 * of the configuration that decided it: after a reload, thousands of open watches must not keep the previous
 * pipeline alive.
 */
export class StreamDelivery implements RelayHooks {
  readonly #context: RequestContext;
  readonly #stream: OpenStream;
  readonly #undecided: InFlight;
  readonly #observer: RequestObserver;
  readonly #streams: StreamRegistry;
  readonly #writeStatus: Pipeline['writeStatus'];
  /** Until the response begins: after that no error is due to Stonegate's rights or to the client's token. */
  #pending: { readonly outgoing: Outgoing; readonly pipeline: Pipeline } | undefined;

  constructor(outgoing: Outgoing, stream: OpenStream, pipeline: Pipeline, undecided: InFlight) {
    this.#context = outgoing;
    this.#stream = stream;
    this.#undecided = undecided;
    this.#observer = pipeline.observer;
    this.#streams = pipeline.streams;
    this.#writeStatus = pipeline.writeStatus;
    this.#pending = { outgoing, pipeline };
  }

  /** Done when the stream has ended. */
  async run(): Promise<void> {
    try {
      this.#context.outcome = await this.#deliver();
      this.#begun(this.#context.outcome.status);
    } catch (error) {
      if (isRefusalOfStonegate(error)) this.#pending?.pipeline.upstreamRights.refused();
      this.#context.outcome = refuse(error, this.#context, this.#writeStatus);
    } finally {
      this.#undecided.release();
      closeStream(this.#context, this.#stream, this.#streams);
    }
    this.#observer.responseComplete(this.#context);
  }

  onHead(status: number): void {
    this.#begun(status);
    this.#observer.responseStarted(this.#context, status);
  }

  #deliver(): Promise<RelayResult> {
    if (this.#pending === undefined) throw new TypeError('a stream is delivered once');
    const { outgoing, pipeline } = this.#pending;
    return deliver(outgoing, pipeline, this.#undecided, this);
  }

  #begun(status: number): void {
    if (this.#pending === undefined) return;
    const { outgoing, pipeline } = this.#pending;
    this.#pending = undefined;
    if (status === 401) forgetRefusedToken(outgoing, pipeline);
  }
}

export function closeStream(context: RequestContext, stream: OpenStream, streams: StreamRegistry): void {
  streams.close(stream);
  if (stream.reason !== undefined) context.ended = stream.reason;
}

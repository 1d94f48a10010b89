/**
 * The way of a request, all of it: each stage takes what the one before made and returns more. Whatever is
 * thrown on the way becomes a Kubernetes Status in one place, and audit and metrics see every end.
 * The drawing of it, with the Status of each exit, is `docs/lifecycle.md`.
 */
import type { TenantName } from '../api/identity.ts';
import { isWorkload } from '../api/request-info.ts';
import { StatusError } from '../errors/status-error.ts';
import { type StatusResponse, toStatus } from '../errors/to-status.ts';
import type { OpenStream } from '../flowcontrol/open-stream.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import type { InFlight, InFlightCounter } from '../lib/in-flight.ts';
import { discoveryChange } from '../tenancy/discovery-change.ts';
import { isFilteredWatch } from './accepted-types.ts';
import type { Answerer } from './answerer.ts';
import { isAnsweredByAPIServer } from './built-in-groups.ts';
import type { BodyInspection, Inspected } from './inspect-body.ts';
import { openStream } from './open-stream.ts';
import type {
  Exchange,
  Forwarder,
  Outcome,
  RelayHooks,
  RelayResult,
  RequestObserver,
  RequestRecord,
  ResponseWriter,
  Tunneller,
  UpstreamRequest,
  UpstreamResponse,
} from './ports.ts';
import { ServedRecord } from './record.ts';
import type { Outgoing, Received } from './request-state.ts';
import {
  actAsRequested,
  admit,
  authenticateRequest,
  authorizeRequest,
  identify,
  impersonateRequest,
  provision,
  receive,
  resolveTenant,
  rewrite,
  type Stages,
} from './stages.ts';

/** Everything a request meets: the stages, those who watch, and the last stage's three ways. */
export interface Pipeline extends Stages {
  readonly observer: RequestObserver;
  readonly answerers: readonly Answerer[];
  readonly bodies: BodyInspection;
  readonly forwarder: Forwarder;
  readonly tunneller: Tunneller;
  /** Requests not yet handed to the API server; the others at most make a cache forget a token, which may have ended by then. */
  readonly undecided: InFlightCounter;
  /** Of the process: it outlives a reload. */
  readonly streams: StreamRegistry;
  /** Called when a request has changed a tenant's discovery; every tenant's if it is undefined. */
  readonly discoveryChanged: (owner: TenantName | undefined) => void;
  readonly writeStatus: (response: ResponseWriter, answer: StatusResponse, auditID: string) => void;
}

/**
 * Serves one request to its end. Rejects only where it cannot be begun, or not even its refusal can be written. Most stages
 * know at once: only what is a promise is waited for, since each wait costs as much as a stage does.
 */
export async function serveRequest(exchange: Exchange, pipeline: Pipeline): Promise<void> {
  const received = receive(exchange, pipeline);
  const record = new ServedRecord(received);
  const undecided = pipeline.undecided.enter();
  let stream: OpenStream | undefined;
  try {
    const identified = identify(received, record, pipeline);
    const proven = authenticateRequest(identified, record, pipeline);
    const authenticated = proven instanceof Promise ? await proven : proven;
    const named = resolveTenant(authenticated, record, pipeline);
    const scoped = named instanceof Promise ? await named : named;
    pipeline.observer.requestReceived(record);
    stream = openStream(scoped, pipeline.streams);
    const made = provision(scoped, pipeline);
    if (made !== undefined) await made;
    const wished = actAsRequested(scoped, record, pipeline);
    const acting = wished instanceof Promise ? await wished : wished;
    const allowed = authorizeRequest(acting, pipeline);
    const authorized = allowed instanceof Promise ? await allowed : allowed;
    admit(authorized, pipeline);
    pipeline.limitTenant(authorized.tenant);
    const routed = rewrite(authorized, pipeline);
    const outgoing = impersonateRequest(routed, pipeline);
    record.outcome = await deliver(outgoing, record, pipeline, undecided, stream);
    if (record.outcome.status === 401) forgetRefused(outgoing, pipeline);
  } catch (error) {
    if (record.user === undefined) pipeline.observer.requestReceived(record);
    if (error instanceof StatusError && error.code === 'UpstreamRefusedCredential')
      pipeline.upstreamRights.refused();
    record.outcome = refuse(error, received, pipeline);
  } finally {
    undecided.release();
    if (stream !== undefined) closeStream(stream, record, pipeline);
  }
  pipeline.observer.responseComplete(record);
}

/**
 * The last stage's three ways: answer, tunnel, forward. A request to forward is decided once its body has been
 * inspected.
 */
function deliver(
  outgoing: Outgoing,
  record: RequestRecord,
  pipeline: Pipeline,
  undecided: InFlight,
  stream: OpenStream | undefined,
): Promise<RelayResult> {
  const answer = firstAnswer(outgoing, pipeline.answerers);
  if (answer !== undefined) return answer.then((made) => writeAnswer(outgoing, made));
  const inspected = pipeline.bodies.inspect(outgoing);
  if (inspected === undefined) return send(outgoing, record, pipeline, undecided, stream);
  return sendInspected(inspected, outgoing, record, pipeline, undecided, stream);
}

async function sendInspected(
  inspection: Promise<Inspected>,
  outgoing: Outgoing,
  record: RequestRecord,
  pipeline: Pipeline,
  undecided: InFlight,
  stream: OpenStream | undefined,
): Promise<RelayResult> {
  const inspected = await inspection;
  try {
    return await send(outgoing, record, pipeline, undecided, stream, inspected);
  } finally {
    inspected.release();
  }
}

/** @param inspected what is sent in place of the client's body */
function send(
  outgoing: Outgoing,
  record: RequestRecord,
  pipeline: Pipeline,
  undecided: InFlight,
  stream: OpenStream | undefined,
  inspected?: Inspected,
): Promise<RelayResult> {
  const { exchange, route, info, sender, tenant, headers } = outgoing;
  if (route.kind !== 'forward')
    throw new StatusError('InvariantBroken', 'Internal error occurred: nobody answers');
  record.impersonated = sender.kind === 'stonegate';
  const { longRunning } = info;
  const request: UpstreamRequest = {
    account: { kind: 'tenant', tenant },
    sender,
    method: exchange.method,
    target: route.query === '' ? route.path : `${route.path}?${route.query}`,
    headers: inspected?.headers ?? headers,
    longRunning: longRunning !== undefined,
    endless: longRunning === 'watch' || longRunning === 'log',
    ...(stream && { ending: stream }),
    proxied: isWorkload(info),
    dropsBookmarks: isFilteredWatch(info, pipeline.mode),
    ownAnswer: isAnsweredByAPIServer(info),
    ...(inspected && { body: inspected.body }),
  };
  const hooks = hooksOf(outgoing, record, pipeline);
  const result =
    exchange.upgrade === undefined
      ? pipeline.forwarder.forward(request, exchange, hooks)
      : pipeline.tunneller.tunnel(request, exchange, exchange.upgrade, hooks);
  undecided.release();
  return result;
}

function closeStream(stream: OpenStream, record: RequestRecord, { streams }: Pipeline): void {
  streams.close(stream);
  if (stream.reason !== undefined) record.ended = stream.reason;
}

/** Only of what takes long it is told that it has begun. */
const UNHEARD: RelayHooks = { onHead() {} };

function hooksOf({ info, tenant }: Outgoing, record: RequestRecord, pipeline: Pipeline): RelayHooks {
  if (info.longRunning !== undefined) return startedHooks(record, pipeline.observer);
  const change = discoveryChange(info, tenant, pipeline.mode);
  if (change === undefined) return UNHEARD;
  return {
    onHead(status) {
      // A server that failed may have written all the same.
      if (status < 300 || status >= 500) pipeline.discoveryChanged(change.owner);
    },
  };
}

function startedHooks(record: RequestRecord, observer: RequestObserver): RelayHooks {
  return { onHead: (status) => observer.responseStarted(record, status) };
}

/** What the API server no longer takes it no longer vouches for. Behind `proxy` somebody else has said so. */
function forgetRefused({ sender, identity, info }: Outgoing, { authenticators }: Pipeline): void {
  if (sender.kind !== 'client' || isWorkload(info)) return;
  authenticators.find(({ name }) => name === identity.authenticator)?.forget?.(sender.token);
}

function firstAnswer(
  outgoing: Outgoing,
  answerers: readonly Answerer[],
): Promise<UpstreamResponse> | undefined {
  for (const answerer of answerers) {
    const answer = answerer.answer(outgoing);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

function writeAnswer({ exchange, auditID }: Outgoing, answer: UpstreamResponse): RelayResult {
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

/** The one place where an error becomes an answer. */
function refuse(error: unknown, { exchange, auditID }: Received, { writeStatus }: Pipeline): Outcome {
  const answer = toStatus(error, auditID);
  const { response } = exchange;
  const outcome = {
    message: answer.status.message,
    error,
    ...(error instanceof StatusError
      ? { code: error.code, annotations: error.auditAnnotations }
      : { code: 'InternalError' as const }),
  };
  if (response.closed) return { ...outcome, status: 0, aborted: true };
  if (response.headersSent) {
    response.destroy();
    return { ...outcome, status: answer.status.code, aborted: true };
  }
  writeStatus(response, answer, auditID);
  return { ...outcome, status: answer.status.code, aborted: false };
}

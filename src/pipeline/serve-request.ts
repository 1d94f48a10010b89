/**
 * The way of a request, all of it: each stage takes what the one before made and returns more. Whatever is
 * thrown on the way becomes a Kubernetes Status in one place, and audit and metrics see every end.
 * The drawing of it, with the Status of each exit, is `docs/lifecycle.md`.
 */
import { StatusError } from '../errors/status-error.ts';
import { type StatusAnswer, toStatus } from '../errors/to-status.ts';
import type { Answer, Answerer } from './answerer.ts';
import type { Exchange, ResponseWriter } from './exchange.ts';
import { isWorkload } from './request-info.ts';
import type { Outcome, RequestObserver, RequestRecord } from './request-observer.ts';
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
  recordOf,
  resolveTenant,
  rewrite,
  type Stages,
} from './stages.ts';
import type { Forwarder, RelayHooks, RelayResult, Tunneller, UpstreamRequest } from './upstream.ts';

/** Everything a request meets: the stages, those who watch, and the last stage's three ways. */
export interface Pipeline extends Stages {
  readonly observer: RequestObserver;
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
    const scoped = await resolveTenant(authenticated, record, pipeline);
    pipeline.observer.requestReceived(record);
    if (pipeline.provisioning !== undefined) await provision(scoped, pipeline);
    const acting = await actAsRequested(scoped, record, pipeline);
    const authorized = await authorizeRequest(acting, pipeline);
    admit(authorized, pipeline);
    pipeline.limitTenant(authorized.tenant);
    const routed = rewrite(authorized, pipeline);
    const outgoing = impersonateRequest(routed, pipeline);
    record.outcome = relayed(await deliver(outgoing, record, pipeline));
    if (record.outcome.status === 401) forgetRefused(outgoing, pipeline);
  } catch (error) {
    if (record.user === undefined) pipeline.observer.requestReceived(record);
    record.outcome = refuse(error, received, pipeline);
  }
  pipeline.observer.responseComplete(record);
}

/** The last stage's three ways: answer, tunnel, forward. */
function deliver(outgoing: Outgoing, record: RequestRecord, pipeline: Pipeline): Promise<RelayResult> {
  const answer = firstAnswer(outgoing, pipeline.answerers);
  if (answer !== undefined) return answer.then((made) => writeAnswer(outgoing, made));
  const { exchange, route, info, sender } = outgoing;
  if (route.kind !== 'forward')
    throw new StatusError('InvariantBroken', 'Internal error occurred: nobody answers');
  record.impersonated = sender.kind === 'stonegate';
  const request: UpstreamRequest = {
    sender,
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

/** What the API server no longer takes it no longer vouches for. Behind `proxy` somebody else has said so. */
function forgetRefused({ sender, identity, info }: Outgoing, { authenticators }: Pipeline): void {
  if (sender.kind !== 'client' || isWorkload(info)) return;
  authenticators.find(({ name }) => name === identity.authenticator)?.forget?.(sender.token);
}

function firstAnswer(outgoing: Outgoing, answerers: readonly Answerer[]): Promise<Answer> | undefined {
  for (const answerer of answerers) {
    const answer = answerer.answer(outgoing);
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

/**
 * Serves a request: runs the stages in order. Each takes the type that the previous one established. Whatever
 * a stage throws becomes a Kubernetes Status, and the observers see every request; `docs/lifecycle.md` shows
 * the Status of each exit.
 */

import type { Exchange } from '../lib/exchange.ts';
import type { InFlight } from '../lib/in-flight.ts';
import { currentTrace } from '../lib/request-trace.ts';
import type { Outcome } from '../observability/request-observer.ts';
import {
  deliver,
  forgetRefusedToken,
  isRefusalOfStonegate,
  publish,
  refuse,
  type ServingStages,
} from './delivery.ts';
import type { Tracer } from './feature.ts';
import { openStream } from './request/open-stream.ts';
import type { RequestContext } from './request-context.ts';
import { closeStream, StreamDelivery } from './response/stream-delivery.ts';
import {
  actAs,
  admit,
  authenticate,
  authorize,
  impersonate,
  limit,
  parseRequestInfo,
  provision,
  receive,
  resolveTenant,
  rewrite,
} from './stages.ts';

/**
 * Resolves when the response is complete. Rejects only if the request cannot be received or its refusal
 * cannot be written. Most stages return at once: only a promise is awaited, since each `await` costs as
 * much as a stage.
 */
export function serveRequest(exchange: Exchange, stages: ServingStages): Promise<void> {
  const { tracer } = stages;
  return tracer === undefined ? runStages(exchange, stages) : traceStages(exchange, stages, tracer);
}

async function traceStages(exchange: Exchange, stages: ServingStages, tracer: Tracer): Promise<void> {
  const context = receive(exchange, stages);
  return tracer.trace(context, () => runStages(exchange, stages, context));
}

async function runStages(
  exchange: Exchange,
  stages: ServingStages,
  context: RequestContext = receive(exchange, stages),
): Promise<void> {
  const trace = currentTrace();
  const undecided = stages.undecided.enter();
  let observed = false;
  try {
    const identified = parseRequestInfo(context, stages);
    const published = publish(identified, stages);
    if (published !== undefined) return endPublished(context, published, stages, undecided);
    trace?.stage('authenticate');
    const authentication = authenticate(identified, stages);
    const authenticated = authentication instanceof Promise ? await authentication : authentication;
    trace?.stage('resolveTenant');
    const resolution = resolveTenant(authenticated, stages);
    const scoped = resolution instanceof Promise ? await resolution : resolution;
    observed = true;
    stages.observer.requestReceived(context);
    openStream(scoped, stages.streams);
    trace?.stage('provision');
    const provisioning = provision(scoped, stages);
    if (provisioning !== undefined) await provisioning;
    trace?.stage('actAs');
    const impersonation = actAs(scoped, stages);
    const acting = impersonation instanceof Promise ? await impersonation : impersonation;
    trace?.stage('authorize');
    const authorization = authorize(acting, stages);
    const authorized = authorization instanceof Promise ? await authorization : authorization;
    trace?.stage('admit');
    admit(authorized, stages);
    trace?.stage('limit');
    const limiting = limit(authorized, stages);
    if (limiting !== undefined) await limiting;
    const routed = rewrite(authorized, stages);
    const outgoing = impersonate(routed, stages);
    // It is not awaited: this function refers to the stages, which a stream must not keep alive.
    if (outgoing.stream !== undefined)
      return new StreamDelivery(outgoing, outgoing.stream, stages, undecided).run();
    // forward | tunnel | handle
    context.outcome = await deliver({ outgoing, stages, undecided });
    if (context.outcome.status === 401) forgetRefusedToken(outgoing, stages);
  } catch (error) {
    if (!observed) stages.observer.requestReceived(context);
    refuseRequest(error, context, stages, undecided);
  }
  undecided.release();
  stages.observer.responseComplete(context);
}

/** Nothing but the observers follows on a document that needs no user. */
function endPublished(
  context: RequestContext,
  outcome: Outcome,
  stages: ServingStages,
  undecided: InFlight,
): void {
  stages.observer.requestReceived(context);
  context.outcome = outcome;
  undecided.release();
  stages.observer.responseComplete(context);
}

function refuseRequest(
  error: unknown,
  context: RequestContext,
  stages: ServingStages,
  undecided: InFlight,
): void {
  if (isRefusalOfStonegate(error)) stages.upstreamRights.refused();
  try {
    context.outcome = refuse(error, context, stages.writeStatus);
  } finally {
    undecided.release();
    if (context.stream !== undefined) closeStream(context, context.stream, stages.streams);
  }
}

/**
 * Serves a request: runs the stages in order. Each takes the type that the previous one established. Whatever
 * a stage throws becomes a Kubernetes Status, and the observers see every request; `docs/lifecycle.md` shows
 * the Status of each exit.
 */

import type { Exchange } from '../lib/exchange.ts';
import type { InFlight } from '../lib/in-flight.ts';
import { deliver, forgetRefusedToken, isRefusalOfStonegate, type Pipeline, refuse } from './delivery.ts';
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
 * Done when the response is complete. Rejects only if the request cannot be received or its refusal cannot be
 * written. Most stages return at once: only a promise is awaited, since each `await` costs as much as a
 * stage.
 */
export async function serveRequest(exchange: Exchange, pipeline: Pipeline): Promise<void> {
  const context = receive(exchange, pipeline);
  const undecided = pipeline.undecided.enter();
  let observed = false;
  try {
    const identified = parseRequestInfo(context, pipeline);
    const authentication = authenticate(identified, pipeline);
    const authenticated = authentication instanceof Promise ? await authentication : authentication;
    const resolution = resolveTenant(authenticated, pipeline);
    const scoped = resolution instanceof Promise ? await resolution : resolution;
    observed = true;
    pipeline.observer.requestReceived(context);
    openStream(scoped, pipeline.streams);
    const provisioning = provision(scoped, pipeline);
    if (provisioning !== undefined) await provisioning;
    const impersonation = actAs(scoped, pipeline);
    const acting = impersonation instanceof Promise ? await impersonation : impersonation;
    const authorization = authorize(acting, pipeline);
    const authorized = authorization instanceof Promise ? await authorization : authorization;
    admit(authorized, pipeline);
    limit(authorized, pipeline);
    const routed = rewrite(authorized, pipeline);
    const outgoing = impersonate(routed, pipeline);
    // It is not awaited: this function refers to the pipeline, which a stream must not keep alive.
    if (outgoing.stream !== undefined)
      return new StreamDelivery(outgoing, outgoing.stream, pipeline, undecided).run();
    context.outcome = await deliver(outgoing, pipeline, undecided);
    if (context.outcome.status === 401) forgetRefusedToken(outgoing, pipeline);
  } catch (error) {
    if (!observed) pipeline.observer.requestReceived(context);
    refuseRequest(error, context, pipeline, undecided);
  }
  undecided.release();
  pipeline.observer.responseComplete(context);
}

function refuseRequest(
  error: unknown,
  context: RequestContext,
  pipeline: Pipeline,
  undecided: InFlight,
): void {
  if (isRefusalOfStonegate(error)) pipeline.upstreamRights.refused();
  try {
    context.outcome = refuse(error, context, pipeline.writeStatus);
  } finally {
    undecided.release();
    if (context.stream !== undefined) closeStream(context, context.stream, pipeline.streams);
  }
}

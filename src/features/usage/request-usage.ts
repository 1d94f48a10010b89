/**
 * Charges each request to the user's own tenant and project when it ends. Streams may last for days: their
 * bytes and seconds so far are charged whenever `chargeStreams` is called.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ObservedRequest, RequestObserver } from '../../observability/request-observer.ts';
import { type RequestClass, requestClass } from '../../proxy/request/request-class.ts';
import { NO_TENANT } from '../../tenancy/tenant-name.ts';
import { NONE, type Usage } from './usage-v1alpha1.ts';

/** Up to where an open stream is charged. */
interface Charged {
  /** Milliseconds since the epoch. */
  at: number;
  received: number;
  sent: number;
}

export class RequestUsage implements RequestObserver {
  readonly #usageOf: (tenant: string, project: string) => Usage;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #streams = new Map<ObservedRequest, Charged>();

  /** @param usageOf returns what is added to */
  constructor(usageOf: (tenant: string, project: string) => Usage, clock: Pick<Clock, 'now'>) {
    this.#usageOf = usageOf;
    this.#clock = clock;
  }

  requestReceived(): void {}

  responseStarted(request: ObservedRequest, status: number): void {
    if (status < 400) this.#streams.set(request, { at: this.#clock.now(), received: 0, sent: 0 });
  }

  responseComplete(request: ObservedRequest): void {
    const usage = this.#accountOf(request);
    if (request.outcome?.code !== undefined) usage.refusals += 1;
    usage[`${classOf(request)}Requests`] += 1;
    const stream = this.#streams.get(request);
    if (stream !== undefined) {
      charge(usage, request, stream, this.#clock.now());
      this.#streams.delete(request);
      return;
    }
    const { bytesReceived, response } = request.exchange;
    usage.receivedBytes += bytesReceived;
    usage.sentBytes += response.bytesSent;
  }

  chargeStreams(): void {
    const now = this.#clock.now();
    for (const [request, stream] of this.#streams) charge(this.#accountOf(request), request, stream, now);
  }

  #accountOf({ tenant, identity }: ObservedRequest): Usage {
    const scope = identity?.scope;
    const name = tenant === undefined || tenant === NO_TENANT ? NONE : tenant;
    return this.#usageOf(name, (scope?.kind === 'project' ? scope.id : undefined) ?? NONE);
  }
}

/** A request that was refused before its path was parsed has the class of its method. */
function classOf({ info, exchange }: ObservedRequest): RequestClass {
  if (info !== undefined) return requestClass(info);
  return exchange.method === 'GET' || exchange.method === 'HEAD' ? 'get' : 'write';
}

function charge(usage: Usage, { exchange }: ObservedRequest, charged: Charged, now: number): void {
  const { bytesReceived: received, response } = exchange;
  const sent = response.bytesSent;
  // A clock that was set back takes nothing away.
  usage.streamSeconds += Math.max(0, now - charged.at) / 1_000;
  usage.receivedBytes += received - charged.received;
  usage.sentBytes += sent - charged.sent;
  Object.assign(charged, { at: now, received, sent });
}

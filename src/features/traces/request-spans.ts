/**
 * The spans of one request: its own, one for each stage and one for each call to a backend. They name verbs
 * and resources, never objects, paths, queries, users or credentials.
 */

import type { HeaderList } from '../../lib/header-list.ts';
import type { RequestTrace, TracedCall } from '../../lib/request-trace.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { Backend } from '../../lib/telemetry.ts';
import type { ObservedRequest } from '../../observability/request-observer.ts';
import type { Attributes, Span } from './span.ts';
import { type TraceContext, withTraceContext } from './trace-context.ts';

/** More calls of one request are not recorded: a merged watch may make them for days. */
const MAX_SPANS = 256;
/** Others are any text of a client: https://opentelemetry.io/docs/specs/semconv/http/http-spans/ */
const METHODS: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'],
]);

interface OpenSpan extends Pick<Span, 'spanID' | 'parentID' | 'name' | 'kind' | 'startedAt'> {
  endedAt?: number;
  attributes: Attributes;
  isError: boolean;
}

interface RequestSpansOptions extends Pick<Runtime, 'clock' | 'random'> {
  readonly context: TraceContext;
}

export class RequestSpans implements RequestTrace {
  readonly #options: RequestSpansOptions;
  /** Of the clock that is never set, at the epoch of the other. */
  readonly #epoch: number;
  readonly #root: OpenSpan;
  #stage: OpenSpan | undefined;
  #spans: OpenSpan[];
  #isOver = false;

  constructor(options: RequestSpansOptions) {
    const { clock, context } = options;
    this.#options = options;
    this.#epoch = clock.now() - clock.monotonic();
    this.#root = this.#begin('', 'server', context.parentID);
    this.#spans = [this.#root];
  }

  stage(name: string): void {
    if (!this.#options.context.isSampled || this.#isOver) return;
    if (this.#stage) this.#stage.endedAt = this.#now();
    this.#stage = this.#begin(name, 'internal', this.#root.spanID);
    this.#spans.push(this.#stage);
  }

  call(backend: Backend): TracedCall | undefined {
    if (this.#isOver) return undefined;
    const isRecorded = this.#options.context.isSampled && this.#spans.length < MAX_SPANS;
    if (!isRecorded) return { propagate: (headers) => this.#propagate(headers, this.#root), end() {} };
    const span = this.#begin(backend, 'client', (this.#stage ?? this.#root).spanID);
    span.attributes = { 'peer.service': backend, ...(backend === 'redis' && { 'db.system.name': 'redis' }) };
    this.#spans.push(span);
    return {
      propagate: (headers) => this.#propagate(headers, span),
      end: (result) => {
        span.endedAt ??= this.#now();
        if (result === 'ok') return;
        span.isError = true;
        span.attributes = { ...span.attributes, 'error.type': result };
      },
    };
  }

  /** @returns the spans; none if the request is not sampled */
  end(request: ObservedRequest): readonly Span[] {
    const { context } = this.#options;
    const endedAt = this.#now();
    const spans = this.#spans;
    const status = request.outcome?.status ?? 0;
    const name = nameOf(request);
    this.#isOver = true;
    // What was made while the request was served, a connection for example, may refer to this for long.
    this.#spans = [];
    if (!context.isSampled) return [];
    this.#root.attributes = attributesOf(request);
    this.#root.isError = status >= 500;
    return spans.map((span) => ({
      endedAt,
      ...span,
      traceID: context.traceID,
      state: context.state,
      name: span === this.#root ? name : span.name,
    }));
  }

  #propagate(headers: HeaderList, span: OpenSpan): HeaderList {
    return withTraceContext(headers, this.#options.context, span.spanID);
  }

  #begin(name: string, kind: Span['kind'], parentID: string | undefined): OpenSpan {
    const spanID = this.#options.random.bytes(8).toString('hex');
    return { spanID, parentID, name, kind, startedAt: this.#now(), attributes: {}, isError: false };
  }

  #now(): number {
    return this.#epoch + this.#options.clock.monotonic();
  }
}

/** The verb and the resource, with the subresource; none before the user is known: they are any text. */
/** Of resources as API servers have them: a path of the client's may contain anything. */
const NAME = /^[a-z0-9.-]{1,63}$/;

function operationOf({ info, user }: ObservedRequest): readonly string[] {
  if (user === undefined || info?.isResourceRequest !== true) return [];
  const { verb, resource, subresource } = info;
  const names = subresource === '' ? [resource] : [resource, subresource];
  return [verb, names.every((name) => NAME.test(name)) ? names.join('/') : '_OTHER'];
}

function methodOf({ exchange: { method } }: ObservedRequest): string {
  return METHODS.has(method) ? method : '_OTHER';
}

function nameOf(request: ObservedRequest): string {
  return [methodOf(request).replace('_OTHER', 'HTTP'), ...operationOf(request)].join(' ');
}

function attributesOf(request: ObservedRequest): Attributes {
  const { auditID, tenant, outcome } = request;
  const { status = 0, code } = outcome ?? {};
  const [verb, resource] = operationOf(request);
  return {
    'http.request.method': methodOf(request),
    'url.scheme': 'https',
    ...(status !== 0 && { 'http.response.status_code': status }),
    ...(status >= 500 && { 'error.type': code ?? String(status) }),
    ...(verb !== undefined && { 'k8s.request.verb': verb }),
    ...(resource !== undefined && { 'k8s.request.resource': resource }),
    ...(tenant !== undefined && { 'stonegate.tenant': tenant }),
    'stonegate.audit_id': auditID,
    ...(code !== undefined && { 'stonegate.error_code': code }),
  };
}

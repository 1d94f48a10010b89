/**
 * A span that has ended, and its form in an export request: OTLP in the JSON mapping of its messages.
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */

/** `Span.SpanKind` of opentelemetry/proto/trace/v1/trace.proto. */
const SPAN_KINDS = { internal: 1, server: 2, client: 3 } as const;
/** `Status.StatusCode`. */
const STATUS_ERROR = 2;

export type Attributes = Readonly<Record<string, string | number>>;

export interface Span {
  readonly traceID: string;
  readonly spanID: string;
  readonly parentID?: string | undefined;
  readonly state?: string | undefined;
  readonly name: string;
  readonly kind: keyof typeof SPAN_KINDS;
  /** Milliseconds since the epoch, with fractions. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  readonly isError: boolean;
}

/** The body of a post to a collector: an `ExportTraceServiceRequest`. */
export function exportRequest(spans: readonly Span[], resource: Attributes): object {
  const scopeSpans = [{ scope: { name: 'stonegate' }, spans: spans.map(encoded) }];
  return { resourceSpans: [{ resource: { attributes: keyValues(resource) }, scopeSpans }] };
}

function encoded(span: Span): object {
  const { traceID, spanID, parentID, state, name, kind, startedAt, endedAt, attributes, isError } = span;
  return {
    traceId: traceID,
    spanId: spanID,
    ...(parentID !== undefined && { parentSpanId: parentID }),
    ...(state !== undefined && { traceState: state }),
    name,
    kind: SPAN_KINDS[kind],
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: keyValues(attributes),
    ...(isError && { status: { code: STATUS_ERROR } }),
  };
}

/** 64-bit integers are decimal strings. A number has room for microseconds, not for nanoseconds. */
function nanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1_000)}000`;
}

function keyValues(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
}

/**
 * Builds the tracer, which decides which requests are traced.
 */
import { ComponentType } from '../../config/component.ts';
import { runTraced } from '../../lib/request-trace.ts';
import type { Feature } from '../../proxy/feature.ts';
import { isTrustedProxy, parseTrustedProxies } from '../../proxy/request/client-address.ts';
import type { FeatureBuild } from '../build.ts';
import type { TracesParts } from './feature.ts';
import { RequestSpans } from './request-spans.ts';
import { SpanExporter } from './span-exporter.ts';
import { newTraceContext, readTraceContext } from './trace-context.ts';

/** Streams that outlive it still send their spans. */
const EXPORTER = new ComponentType<SpanExporter>('export of traces', {
  dispose: (exporter) => exporter.close(),
});

type TracesBuild = Pick<FeatureBuild<TracesParts>, 'parts' | 'runtime' | 'scope'>;

/** @returns undefined if traces are off */
export function createTraces({ parts, runtime, scope }: TracesBuild): Feature | undefined {
  const { collector, sampling } = parts;
  if (collector === undefined || sampling === undefined) return undefined;
  const { ratio } = sampling;
  const { random } = runtime;
  const trusted = parseTrustedProxies(sampling.trustedProxies);
  const exporter = scope.component(EXPORTER, collector, [], () => {
    const resource = { 'service.name': 'stonegate', 'service.instance.id': random.uuid() };
    return new SpanExporter({ ...runtime, collector, resource });
  });
  return {
    tracer: {
      trace(request, serve) {
        const { peerAddress, headers } = request.exchange;
        const given = isTrustedProxy(peerAddress, trusted) ? readTraceContext(headers) : undefined;
        const spans = new RequestSpans({ ...runtime, context: given ?? newTraceContext(random, ratio) });
        return runTraced(spans, serve).finally(() => exporter.add(spans.end(request)));
      },
    },
  };
}

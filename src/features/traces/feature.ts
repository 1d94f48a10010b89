/**
 * The feature `traces`: what each request did and how long it took, as OpenTelemetry spans. See
 * docs/traces.md.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { defineFeature } from '../define-feature.ts';
import * as METRICS from './metrics.ts';
import { type TracesConfiguration, tracesSchema } from './traces-configuration.ts';

interface TracesReads extends Pick<CoreConfiguration, 'server'> {
  readonly traces?: TracesConfiguration;
}

export const traces = defineFeature({
  name: 'traces',
  sections: {
    traces: tracesSchema
      .exactOptional()
      .describe('OpenTelemetry traces of requests, sent to a collector. Off without it.'),
  },
  metrics: Object.values(METRICS),
  reads({ traces, server: { trustedProxies } }: TracesReads, { file, secret }) {
    if (traces === undefined) return { collector: undefined, sampling: undefined };
    const { endpoint, caFile, headers, samplingRatio } = traces;
    return {
      collector: {
        endpoint,
        ...(caFile !== undefined && { ca: file(caFile).toString() }),
        headers: Object.fromEntries(Object.entries(headers).map(([name, from]) => [name, secret(from)])),
      },
      sampling: { ratio: samplingRatio, trustedProxies },
    };
  },
});

export type TracesParts = ReturnType<typeof traces.reads>;

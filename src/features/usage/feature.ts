/**
 * The feature `usage`: what each tenant and project uses, as records and metrics. See docs/usage.md.
 */
import { defineFeature } from '../define-feature.ts';
import { type UsageConfiguration, usageSchema } from './usage-configuration.ts';

export const usage = defineFeature({
  name: 'usage',
  sections: {
    usage: usageSchema
      .exactOptional()
      .describe('What each tenant and project uses, as records and metrics. Off without it.'),
  },
  restartFields: ['usage.records', 'usage.metrics'],
  reads: ({ usage }: { readonly usage?: UsageConfiguration }) => ({ usage }),
});

export type { UsageConfiguration } from './usage-configuration.ts';
export type { RequestedTotals } from './usage-v1alpha1.ts';

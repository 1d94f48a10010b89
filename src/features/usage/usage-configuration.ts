/**
 * The section `usage`: where the usage of tenants and projects is written and shown.
 */
import { z } from 'zod';
import { type Output, toggle } from '../../lib/schema-fields.ts';
import { file } from '../../lib/schema-files.ts';

export const usageSchema = z.strictObject({
  records: z
    .union([z.literal('-'), file()])
    .prefault('-')
    .describe('The usage records, a line each; `-` is standard output.'),
  metrics: toggle(
    'Whether the admin listener has `/metrics/usage`, with series for each tenant and project.',
  ),
});

export type UsageConfiguration = Output<typeof usageSchema>;

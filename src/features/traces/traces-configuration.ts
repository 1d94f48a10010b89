/**
 * The section `traces`: where spans are sent, and of which requests.
 */
import { z } from 'zod';
import { type Output, url } from '../../lib/schema-fields.ts';
import { authorityFile, secretSource } from '../../lib/schema-files.ts';

export const tracesSchema = z.strictObject({
  endpoint: url({
    what: "a collector's address for traces, such as https://collector:4318/v1/traces",
    path: /^\/./,
  }).describe('Where spans are posted: OTLP over HTTP, in JSON.'),
  caFile: authorityFile("the collector's certificate"),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]{1,64}$/, { error: 'the name of a header' }), secretSource())
    .default({})
    .describe('Headers of each post to the collector, such as `Authorization`, by name.'),
  samplingRatio: z
    .number()
    .min(0, { error: 'a number from 0 to 1' })
    .max(1, { error: 'a number from 0 to 1' })
    .default(0.01)
    .describe('The fraction of requests that are traced; a trusted proxy may have decided before.'),
});

export type TracesConfiguration = Output<typeof tracesSchema>;

/**
 * `authentication.tokenReview`: the API server itself says whose a token is.
 */
import { z } from 'zod';
import { duration, period, tenant, text } from './fields.ts';

export const tokenReviewSchema = z.strictObject({
  audiences: z
    .array(text)
    .default([])
    .describe(
      "One of these a token must be for; without any, the API server's own audience. The API server must take the token too, since it goes on as it is.",
    ),
  tenant: tenant
    .exactOptional()
    .describe(
      "The tenant of those whose credential names none; required in shared mode, where none does. In arktos mode these are users whose name holds no tenant and the system tenant's bound tokens; without it they are refused.",
    ),
  timeout: period.prefault('10s').describe('For one question to the API server.'),
  cacheTTL: period
    .prefault('1m')
    .describe('How long an answer is believed: the time until a revocation is seen.'),
  negativeCacheTTL: duration.prefault('5s').describe('How long a bad token is remembered.'),
});

/**
 * The stored form of a portal session. Another version of Stonegate may have written it, so a value of any
 * other shape counts as not found, and the user signs in again.
 */
import { z } from 'zod';
import { type Codec, jsonCodec } from '../../lib/parse-json.ts';
import { identitySchema } from '../../tenancy/identity.ts';
import type { Session } from './ports.ts';

const sessionSchema = z.strictObject({
  identity: identitySchema,
  issuer: z.string().exactOptional(),
  projects: z.array(z.strictObject({ id: z.string(), name: z.string() })),
  expiresAt: z.number(),
});

/** Another stored form needs another name. */
export const sessionCodec: Codec<Session> = jsonCodec('portal-session-1', sessionSchema);

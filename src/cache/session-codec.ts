/**
 * The stored form of a portal session. Another version of Stonegate may have written it, so a value of any
 * other shape counts as not found, and the user signs in again.
 */
import { z } from 'zod';
import { parseJSON } from '../lib/parse-json.ts';
import type { Session } from '../portal/ports.ts';

const texts = z.array(z.string());
const referenceSchema = z.strictObject({ id: z.string(), name: z.string() });
const userSchema = z.strictObject({
  username: z.string(),
  uid: z.string(),
  groups: texts,
  extra: z.record(z.string(), texts),
});

const subjectSchema = z.union([
  z.strictObject({
    kind: z.literal('keystone'),
    userName: z.string(),
    userDomain: referenceSchema,
    scopeDomain: referenceSchema,
    delegation: z
      .strictObject({
        kind: z.enum(['application-credential', 'trust']),
        id: z.string(),
      })
      .exactOptional(),
  }),
  z.strictObject({ kind: z.literal('claim'), name: z.string() }),
  z.strictObject({ kind: z.literal('upstream'), user: userSchema }),
  z.strictObject({ kind: z.literal('anonymous') }),
]);

const tenantOriginSchema = z.union([
  z.strictObject({ from: z.literal('domain'), domain: referenceSchema }),
  z.strictObject({ from: z.literal('issuer'), tenant: z.string() }),
  z.strictObject({ from: z.literal('nowhere') }),
]);

const identitySchema = z.strictObject({
  authenticator: z.string(),
  subject: subjectSchema,
  tenantOrigin: tenantOriginSchema,
  uid: z.string(),
  groups: texts,
  extra: z.record(z.string(), texts),
  scope: z
    .strictObject({
      kind: z.enum(['project', 'domain', 'system', 'unscoped']),
      id: z.string().exactOptional(),
      name: z.string().exactOptional(),
      roles: texts,
    })
    .exactOptional(),
  assignmentsOf: z.string().exactOptional(),
  expiresAt: z.number(),
  auditAnnotations: z.record(z.string(), z.string()),
});

const sessionSchema = z.strictObject({
  identity: identitySchema,
  issuer: z.string().exactOptional(),
  projects: z.array(z.strictObject({ id: z.string(), name: z.string() })),
  expiresAt: z.number(),
});

export const sessionCodec = {
  /** Another stored form needs another name. */
  name: 'portal-session-1',
  encode: (session: Session): string => JSON.stringify(session),
  /** @returns undefined if the text is not a session in this form */
  decode: (text: string): Session | undefined => parseJSON(text, sessionSchema),
};

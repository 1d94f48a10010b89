/**
 * `authentication.jwt[].login`: how users log in at an issuer, with `stonegate login` and at the portal.
 * RFC 8252 §7.3 (loopback), OpenID Connect Core 1.0 §3.1.2.1 (scopes).
 */
import { z } from 'zod';
import { label, text } from '../../lib/schema-fields.ts';

/** The redirect URIs that `stonegate login --redirect-uri` accepts. */
const LOOPBACK_ADDRESS = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)\/[\w.~/-]*$/;

const LOGIN_NAME_MISSING =
  'a name for it: users choose it with --provider NAME, and portal.oidc refers to it';

/** Public: anyone may read it at `/.well-known/stonegate`. */
const login = z.strictObject({
  name: label({ missing: LOGIN_NAME_MISSING }).describe(
    'What users choose with `stonegate kubeconfig --provider NAME`, and `portal.oidc` refers to.',
  ),
  displayName: text.describe("What users call it, in lists and on the portal's button."),
  clientID: text.describe('The public client of `stonegate login` at the issuer; one of its `audiences`.'),
  scopes: z
    .array(z.string().regex(/^[!#-[\]-~]+$/, { error: 'a scope: text without spaces and quotes' }))
    .exactOptional()
    .describe('Requested scopes, `openid profile email` without it; `openid` is always added.'),
  redirectURI: z
    .string()
    .regex(LOOPBACK_ADDRESS, {
      error: 'an address on loopback without a port, such as http://127.0.0.1/acme',
    })
    .exactOptional()
    .describe('The redirect URI of that client; `http://127.0.0.1/` without it.'),
});
export const loginField = login
  .exactOptional()
  .describe('How users log in at this issuer. Then `stonegate kubeconfig --server URL` needs nothing else.');

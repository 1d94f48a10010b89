/**
 * `portal`: where people sign in with a browser. Its addresses are origins: cookies and links are bound to them.
 * RFC 6454 (origins), RFC 7636 (PKCE), OpenID Connect Core 1.0 §3.1.2.1 (scopes).
 */
import { z } from 'zod';
import { bind, type FileField, label, period, rate, secretSource, tenant, text, url } from './fields.ts';

const publicOrigin = url({
  what: 'an https address without a path, such as https://login.example.com',
  path: /^\/$/,
  loopback: false,
});

/** What `stonegate login --redirect-uri` takes. */
const LOOPBACK_ADDRESS = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)\/[\w.~/-]*$/;

const ISSUER_NAME_MISSING =
  'a name, which makes the address to register at the issuer: portal.publicURL and then /login/callback/NAME';

function oidcSchema(file: FileField) {
  return z.strictObject({
    name: label({ missing: ISSUER_NAME_MISSING }).describe(
      'Its own part of the address it redirects to, `/login/callback/NAME` below `publicURL`.',
    ),
    issuer: text.describe('One of `authentication.jwt[].issuer.url`.'),
    clientID: text.describe("The portal's client at the issuer; one of the issuer's `audiences` here."),
    clientSecret: secretSource(file).exactOptional().describe('Its secret; without it a public client.'),
    displayName: text.describe('What its button says after "Continue with".'),
    scopes: z
      .array(z.string().regex(/^[!#-[\]-~]+$/, { error: 'a scope: text without blanks and quotes' }))
      .default(['openid', 'profile', 'email'])
      .describe('What is asked for; `openid` always is.'),
    kubectlClientID: text
      .exactOptional()
      .describe('The public client of `stonegate login`, for the kubeconfig; `clientID` without it.'),
    kubectlRedirectURI: z
      .string()
      .regex(LOOPBACK_ADDRESS, {
        error: 'an address on loopback without a port, such as http://127.0.0.1/acme',
      })
      .exactOptional()
      .describe('Where that client comes back to, for the kubeconfig; `http://127.0.0.1/` without it.'),
  });
}

export function portalSchema(file: FileField) {
  const kubernetes = z.strictObject({
    name: tenant.default('stonegate').describe('What clusters, users and contexts are called by.'),
    server: url({ what: 'the address of Stonegate, such as https://k8s.example.com', path: /^\/$/ }).describe(
      "Where kubectl reaches Stonegate. Its host name must not be the portal's: cookies know no ports.",
    ),
    caFile: file.exactOptional().describe("The CA of that address; else the system's CAs."),
  });
  const keystone = z.strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe('Whether people may sign in with a password, where `authentication.keystone` is there.'),
    displayName: text.default('OpenStack Keystone').describe('What it is called.'),
    publicURL: url({ what: "Keystone's address, such as https://keystone.example.com:5000/v3", path: /^/ })
      .exactOptional()
      .describe("Where people's machines reach it; else `authentication.keystone.url`."),
    defaultDomain: text.exactOptional().describe('What stands in the field for the domain at first.'),
  });
  const signInLimits = z.strictObject({
    perSource: rate.default({ perSecond: 1, burst: 50 }).describe('Per client address.'),
    perUser: rate.default({ perSecond: 0.05, burst: 5 }).describe('Passwords of one user.'),
  });
  return z.strictObject({
    bind: bind.default('0.0.0.0:8444').describe('HOST:PORT of a listener of its own.'),
    publicURL: publicOrigin.describe(
      'Where browsers reach it; each issuer redirects to an address of its own below it.',
    ),
    tls: z
      .strictObject({
        certFile: file.describe('Its certificate with its chain, PEM.'),
        keyFile: file.describe('Its private key, PEM, not encrypted.'),
      })
      .describe('What browsers see. Read anew when a file changes.'),
    kubernetes: kubernetes.describe('What people are told to set up kubectl with.'),
    oidc: z.array(oidcSchema(file)).default([]).describe('The issuers people may sign in with.'),
    keystone: keystone.prefault({}).describe('Signing in with a Keystone password.'),
    sessionLifetime: period
      .prefault('8h')
      .describe('How long a sign-in lasts at most; it ends with the credential it was made with.'),
    signInLimits: signInLimits.prefault({}).describe('How often signing in may be tried, per process.'),
  });
}

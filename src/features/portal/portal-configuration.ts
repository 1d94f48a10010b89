/**
 * The section `portal`, at which users sign in with a browser. Its addresses are origins, because cookies
 * are bound to them. RFC 6454 (origins), RFC 7636 (PKCE).
 */
import { z } from 'zod';
import {
  bind,
  label,
  type Output,
  period,
  rate,
  tenant,
  text,
  toggle,
  unique,
  url,
} from '../../lib/schema-fields.ts';
import { authorityFile, secretSource, serverCertificate } from '../../lib/schema-files.ts';

const publicOrigin = url({
  what: 'an https address without a path, such as https://login.example.com',
  path: /^\/$/,
  loopback: false,
});

const LOGIN_MISSING = 'the name of a login of an issuer: authentication.jwt[].login.name';

const MOVED = ['issuer', 'displayName', 'scopes', 'kubectlClientID', 'kubectlRedirectURI'];

const oidc = z.strictObject(
  {
    name: label({ missing: LOGIN_MISSING }).describe(
      'The name of a `login` of an issuer; the last segment of the redirect URI, `/login/callback/NAME` below `publicURL`.',
    ),
    clientID: text
      .exactOptional()
      .describe("The portal's client at the issuer; one of its `audiences`. Without it that of the `login`."),
    clientSecret: secretSource()
      .exactOptional()
      .describe("The client's secret; without it the portal is a public client."),
  },
  {
    error: ({ code, keys }) =>
      code === 'unrecognized_keys' && keys?.every((key) => MOVED.includes(key))
        ? 'is now a part of the issuer: authentication.jwt[].login has name, displayName, clientID, scopes and redirectURI, and portal.oidc[].name refers to it'
        : undefined,
  },
);

const kubernetes = z.strictObject({
  name: tenant.default('stonegate').describe('The name of clusters, users and contexts in the kubeconfig.'),
  server: url({ what: 'the address of Stonegate, such as https://k8s.example.com', path: /^\/$/ }).describe(
    "The URL of Stonegate for kubectl. Its host name must differ from the portal's, because cookies are shared by all ports of a host.",
  ),
  caFile: authorityFile('that address'),
});
const keystone = z.strictObject({
  enabled: toggle(
    'Whether users may sign in with a Keystone password, if `authentication.keystone` is set.',
    true,
  ),
  displayName: text.default('OpenStack Keystone').describe('The label of the sign-in form.'),
  publicURL: url({ what: "Keystone's address, such as https://keystone.example.com:5000/v3", path: /^/ })
    .exactOptional()
    .describe("Keystone's URL for users' machines; else `authentication.keystone.url`."),
  defaultDomain: text.exactOptional().describe('The initial value of the domain field.'),
});
const signInLimits = z.strictObject({
  perSource: rate.default({ perSecond: 1, burst: 50 }).describe('Per client address.'),
  perUser: rate.default({ perSecond: 0.05, burst: 5 }).describe('Password attempts per user.'),
});
export const portalSchema = z.strictObject({
  bind: bind.default('0.0.0.0:8444').describe('HOST:PORT of a separate listener.'),
  publicURL: publicOrigin.describe('The origin for browsers. The redirect URI of each issuer is below it.'),
  tls: z.strictObject(serverCertificate).describe('The server certificate. Reloaded if a file changes.'),
  kubernetes: kubernetes.describe('The cluster in the kubeconfig that users download.'),
  commandURL: url({ what: 'an https address, such as https://example.com/stonegate/releases', path: /^/ })
    .exactOptional()
    .describe(
      'Where users find the `stonegate` command as an executable that needs no Node: a page; or, with `{platform}` and `{version}` in it, the address of each file, such as `https://github.com/OWNER/NAME/releases/download/v{version}/stonegate-{version}-{platform}`. Then the portal offers the one for the system of the browser first. It serves the command itself as one file for Node.',
    ),
  oidc: z
    .array(oidc)
    .superRefine(unique('each name once', ({ name }) => name, 'name'))
    .default([])
    .describe('The issuers that users may sign in with.'),
  keystone: keystone.prefault({}).describe('Signing in with a Keystone password.'),
  sessionLifetime: period
    .prefault('8h')
    .describe('The maximum duration of a session. It also ends with the credential used to sign in.'),
  signInLimits: signInLimits.prefault({}).describe('Limits of sign-in attempts, per process.'),
});

export type PortalConfiguration = Output<typeof portalSchema>;
export type PortalOIDCConfiguration = Output<typeof oidc>;

/**
 * The document that tells a client how to log in at this Stonegate, for `stonegate kubeconfig --server`.
 * Anyone may read it, so it names no tenant and no project.
 */
import { z } from 'zod';
import type { Output } from '../../lib/schema-fields.ts';

/** RFC 8615. */
export const CLIENT_SETUP_PATH = '/.well-known/stonegate';

/** Commands print it at a terminal, which must not take it for control sequences. */
const text = z.string().regex(/^\P{C}*$/u);

/** Unknown members are ignored: the server may be newer than the client. */
export const clientSetupSchema = z.object({
  kind: z.literal('ClientSetup'),
  apiVersion: z.literal('stonegate.dev/v1alpha1'),
  spec: z.object({
    tenancyMode: text,
    /** The addresses of the API and of the portal, where the same document is; absent without a portal. */
    server: text.exactOptional(),
    portal: text.exactOptional(),
    /** The authorities of the server's certificate, PEM; absent if clients know them already. */
    certificateAuthority: z.string().exactOptional(),
    keystone: z.object({ displayName: text, url: text }).exactOptional(),
    oidc: z.array(
      z.object({
        name: text,
        displayName: text,
        issuer: text,
        clientID: text,
        scopes: z.array(text),
        redirectURI: text.exactOptional(),
      }),
    ),
  }),
});

export type ClientSetup = Output<typeof clientSetupSchema>;
export type ClientProvider = ClientSetup['spec']['oidc'][number];

/** The scopes that `stonegate login` requests by itself. */
export const LOGIN_SCOPES: readonly string[] = ['openid', 'profile', 'email'];

/** The arguments of `stonegate login` for a provider. */
export function oidcLoginArguments({
  issuer,
  clientID,
  redirectURI,
  scopes,
}: Pick<ClientProvider, 'issuer' | 'clientID' | 'scopes'> & {
  readonly redirectURI?: string | undefined;
}): string[] {
  return [
    ...['--oidc', `--issuer-url=${issuer}`, `--client-id=${clientID}`],
    ...(redirectURI === undefined ? [] : [`--redirect-uri=${redirectURI}`]),
    ...scopes.filter((scope) => !LOGIN_SCOPES.includes(scope)).map((scope) => `--scope=${scope}`),
  ];
}

/**
 * What several parts of the configuration are made of.
 */

/** A secret is never written into the configuration, only where to find it. */
export type SecretSource = { readonly fromFile: string } | { readonly fromEnv: string };

export type Milliseconds = number;

export type UpstreamCredential =
  | { readonly tokenFile: string }
  | { readonly certFile: string; readonly keyFile: string };

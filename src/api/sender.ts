/**
 * With whose credential a request goes to the API server. Stonegate's own speaks for Stonegate, or for the person whom
 * the headers on the request impersonate; a client's own token speaks for the client alone, and nothing is
 * impersonated. Every request says which, so that neither is ever sent for want of a thought.
 */
export type Sender =
  | { readonly kind: 'stonegate' }
  | {
      readonly kind: 'client';
      /** A bearer token that the API server itself has vouched for. */
      readonly token: string;
    };

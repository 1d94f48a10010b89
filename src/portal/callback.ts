/**
 * Where issuers send browsers back to: each has an address of its own, and an answer counts only at the address it was
 * asked for. With a shared one a hostile issuer could send the browser on to an honest one, and be handed the code that
 * comes back. RFC 9700 §4.4.2.2.
 */
import type { Provider } from './ports.ts';

/** @returns a path of the portal; the same as long as the issuer is called the same */
export function callbackOf({ name }: Pick<Provider, 'name'>): string {
  return `/login/callback/${name}`;
}

/**
 * The login by device code, as the person sees it.
 */
import type { OidcLogin } from '../../clients/oidc-login.ts';
import type { OidcTokens } from '../../clients/oidc-provider.ts';
import type { Terminal } from './credential-source.ts';

/** @throws OidcLoginError where the provider offers none, or the person does not confirm it */
export async function logInWithDeviceCode(provider: OidcLogin, terminal: Terminal): Promise<OidcTokens> {
  const login = await provider.beginDevice();
  terminal.say(`To log in, open this page on any device: ${login.verificationURI}`);
  terminal.say(`and enter the code ${login.userCode}`);
  if (login.verificationURIComplete !== undefined) {
    terminal.say(`or open the page with the code in it: ${login.verificationURIComplete}`);
  }
  return login.wait();
}

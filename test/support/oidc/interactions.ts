/**
 * The pages on which a provider asks for login and consent: one form for both, and a way to cancel. The check
 * of passwords is ours, the rest is `oidc-provider`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type Provider from 'oidc-provider';
import type { OidcUser } from './provider.ts';
import { providerPage } from './provider-page.ts';

/** The path to which `oidc-provider` redirects browsers for login and consent. */
export const interactionPath = (uid: string) => `/interaction/${uid}`;

export function isInteraction(request: IncomingMessage) {
  return request.url?.startsWith('/interaction/') ?? false;
}

export async function answerInteraction(
  provider: Provider,
  users: Readonly<Record<string, OidcUser>>,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const details = await provider.interactionDetails(request, response);
  if (request.method !== 'POST') return form(response, 200, '');
  const given = new URLSearchParams(await text(request));
  if (given.has('abort')) {
    const refusal = { error: 'access_denied', error_description: 'the user said no' };
    return provider.interactionFinished(request, response, refusal);
  }
  const name = given.get('user') ?? '';
  const user = Object.hasOwn(users, name) ? users[name] : undefined;
  if (user === undefined || user.password !== given.get('password'))
    return form(response, 403, 'Wrong user or password.');
  const grant = new provider.Grant({ accountId: name, clientId: String(details.params.client_id) });
  grant.addOIDCScope(String(details.params.scope));
  const result = { login: { accountId: name }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(request, response, result);
}

function form(response: ServerResponse, status: number, message: string) {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' });
  response.end(
    providerPage(
      'Log in to Acme',
      `${message === '' ? '' : `<p role="alert">${message}</p>`}
<form method="post" action="">
<label>User <input name="user" autocomplete="username" autocapitalize="none"></label>
<label>Password <input name="password" type="password" autocomplete="current-password"></label>
<button type="submit">Log in</button>
<button type="submit" name="abort" value="yes">Cancel</button>
</form>`,
    ),
  );
}

/**
 * The sign-in page: a link for each issuer, a form for Keystone. A user who has followed the link of a page,
 * such as that of an invitation, sees what it gives. What is wrong is said above the form; the password is
 * never put back.
 * WCAG 2.2 §3.3.1 to §3.3.3, §1.3.5 (autocomplete).
 */
import { type Content, type Html, html } from '../../../lib/html.ts';
import type { Forms } from '../../../proxy/portal-page.ts';
import { button, form, hidden, outcome, textField } from '../../page-parts.ts';
import type { KeystoneSignIn } from '../context.ts';
import type { Provider } from '../oidc-portal.ts';
import { layout, type Navigation } from './layout.ts';

export interface SignInPage extends Forms {
  readonly server: string;
  readonly providers: readonly Pick<Provider, 'name' | 'displayName'>[];
  /** Undefined if users cannot sign in with Keystone. */
  readonly keystone: KeystoneSignIn | undefined;
  /** The user of the current session. */
  readonly signedInAs?: string | undefined;
  readonly navigation: Navigation | undefined;
  readonly next: string;
  /** What the page says to a user who has followed a link; undefined for what it says to all others. */
  readonly greeting: Content;
}

export function signInPage(page: SignInPage): Html {
  const { server, navigation, providers, keystone, signedInAs, refusal, greeting } = page;
  return layout({
    title: refusal === undefined ? 'Sign in' : 'Error: Sign in',
    narrow: true,
    server,
    navigation,
    main: html`${outcome(page)}
${
  signedInAs !== undefined &&
  html`<div class="notice good"><p>You are signed in as <strong>${signedInAs}</strong>. <a href="/">Continue</a>, or sign in as someone else.</p></div>`
}
<div class="card">
<h1>Sign in</h1>
<p class="lead">${greeting ?? html`to use Kubernetes with <code>kubectl</code>`}</p>
${providers.length > 0 && html`<div class="stack">${providers.map((provider) => providerLink(provider, page.next))}</div>`}
${providers.length > 0 && keystone !== undefined && html`<p class="or">or</p>`}
${keystone !== undefined && keystoneForm(page, keystone)}
</div>`,
  });
}

function providerLink({ name, displayName }: Pick<Provider, 'name' | 'displayName'>, next: string): Html {
  const query = new URLSearchParams({ provider: name, next });
  return html`<a class="button quiet wide" href="/login/oidc?${query.toString()}">Continue with ${displayName}</a>`;
}

function keystoneForm(page: SignInPage, { displayName, defaultDomain }: KeystoneSignIn): Html {
  const hint = 'May be left empty: then Keystone takes your default project.';
  return form(
    page,
    'sign-in',
    html`<h2>With ${displayName}</h2>
${hidden('next', page.next)}
${textField(page, { name: 'user', label: 'User name', autocomplete: 'username', required: true })}
${textField(page, { name: 'password', type: 'password', label: 'Password', autocomplete: 'current-password', required: true })}
${textField(page, { name: 'domain', label: 'Domain', autocomplete: 'organization', value: defaultDomain, required: true })}
${textField(page, { name: 'project', label: 'Project', hint })}
${button('Sign in', undefined, 'wide')}`,
  );
}

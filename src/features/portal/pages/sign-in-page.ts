/**
 * The sign-in page: a link for each issuer, a form for Keystone. Mistakes are listed above the form, with
 * links to the fields, and repeated at each field; the password is never put back.
 * WCAG 2.2 §3.3.1 to §3.3.3, §1.3.5 (autocomplete).
 */
import { type Content, type Html, html } from '../html.ts';
import type { Provider } from '../oidc-portal.ts';
import { layout, type Navigation } from './layout.ts';

export const FIELDS = ['user', 'password', 'domain', 'project'] as const;
export type Field = (typeof FIELDS)[number];

export interface SignInPage {
  readonly server: string;
  readonly providers: readonly Pick<Provider, 'name' | 'displayName'>[];
  /** Undefined if users cannot sign in with Keystone. */
  readonly keystone: { readonly displayName: string } | undefined;
  /** The result of the previous action, such as signing out. */
  readonly notice?: string | undefined;
  /** The user of the current session. */
  readonly signedInAs?: string | undefined;
  readonly navigation?: Navigation | undefined;
  readonly formToken: string;
  readonly next: string;
  readonly values: Partial<Record<Field, string>>;
  /** Mistakes by field; `form` for what concerns several fields. */
  readonly mistakes: Partial<Record<Field | 'form', string>>;
}

export function signInPage(page: SignInPage): Html {
  const { server, navigation, providers, keystone, notice, signedInAs, mistakes } = page;
  const wrong = Object.keys(mistakes).length > 0;
  return layout({
    title: wrong ? 'Error: Sign in' : 'Sign in',
    narrow: true,
    server,
    navigation,
    main: html`${wrong && errorSummary(mistakes)}
${notice !== undefined && html`<div class="notice good" role="status"><p>${notice}</p></div>`}
${
  signedInAs !== undefined &&
  html`<div class="notice good"><p>You are signed in as <strong>${signedInAs}</strong>. <a href="/">Continue</a>, or sign in as someone else.</p></div>`
}
<div class="card">
<h1>Sign in</h1>
<p class="lead">to use Kubernetes with <code>kubectl</code></p>
${providers.length > 0 && html`<div class="stack">${providers.map((provider) => providerLink(provider, page.next))}</div>`}
${providers.length > 0 && keystone !== undefined && html`<p class="or">or</p>`}
${keystone !== undefined && keystoneForm(page, keystone.displayName)}
</div>`,
  });
}

function providerLink({ name, displayName }: Pick<Provider, 'name' | 'displayName'>, next: string): Html {
  const query = new URLSearchParams({ provider: name, next });
  return html`<a class="button quiet wide" href="/login/oidc?${query.toString()}">Continue with ${displayName}</a>`;
}

function errorSummary(mistakes: SignInPage['mistakes']): Html {
  const lines = Object.entries(mistakes).map(([field, text]) =>
    field === 'form' ? html`<li>${text}</li>` : html`<li><a href="#${field}">${text}</a></li>`,
  );
  return html`<div class="notice bad" role="alert" tabindex="-1" autofocus aria-labelledby="problem">
<h2 id="problem">There is a problem</h2>
<ul>${lines}</ul>
</div>`;
}

function keystoneForm(page: SignInPage, displayName: string): Html {
  return html`<form method="post" action="/login/keystone" aria-labelledby="keystone" novalidate>
<h2 id="keystone">With ${displayName}</h2>
<input type="hidden" name="token" value="${page.formToken}">
<input type="hidden" name="next" value="${page.next}">
${textField(page, 'user', 'User name', 'username')}
${textField(page, 'password', 'Password', 'current-password')}
${textField(page, 'domain', 'Domain', 'organization')}
${textField(page, 'project', 'Project', 'off', 'May be left empty: then Keystone takes your default project.')}
<button class="button wide" type="submit">Sign in</button>
</form>`;
}

function textField(
  { values, mistakes }: SignInPage,
  name: Field,
  label: string,
  complete: string,
  hint?: string,
): Html {
  const mistake = mistakes[name];
  const described = [hint !== undefined && `${name}-hint`, mistake !== undefined && `${name}-mistake`].filter(
    Boolean,
  );
  const attributes: Content[] = [
    described.length > 0 && html` aria-describedby="${described.join(' ')}"`,
    mistake !== undefined && html` aria-invalid="true"`,
    hint === undefined && html` required`,
    name !== 'password' && html` value="${values[name] ?? ''}"`,
  ];
  return html`<div class="field">
<label for="${name}">${label}</label>
${hint !== undefined && html`<span class="hint" id="${name}-hint">${hint}</span>`}
${mistake !== undefined && html`<span class="mistake" id="${name}-mistake">${mistake}</span>`}
<input id="${name}" name="${name}" type="${name === 'password' ? 'password' : 'text'}" autocomplete="${complete}" autocapitalize="none" spellcheck="false" maxlength="255"${attributes}>
</div>`;
}

/**
 * As much of a browser as a login needs: it follows redirects, stores cookies, and submits forms as a user
 * does who logs in or cancels.
 */

/** `cancel` presses the button that cancels, wherever there is one. */
export type LoginUser = { readonly user: string; readonly password: string } | 'cancel';

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

const MAX_STEPS = 20;

/**
 * @param home an origin at which the function stops, with the address and without requesting the page
 * @returns the last page: one without a form, or with one that was already submitted
 */
export async function browse(address: string, user: LoginUser, home?: string): Promise<Page> {
  const cookies = new Map<string, string>();
  let url = new URL(address);
  let body: URLSearchParams | undefined;
  const met = new Set<string>();
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: cookieHeader(cookies, url) },
      ...(body === undefined ? {} : { body }),
    });
    keepCookies(cookies, url, response);
    const text = await response.text();
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url);
      if (url.origin === home) return { url: url.href, status: response.status, text };
      body = undefined;
      continue;
    }
    const form = readForm(text);
    const page = { url: url.href, status: response.status, text };
    if (form === undefined || met.has(text)) return page;
    met.add(text);
    body = fillIn(form, user);
    url = new URL(form.action, url);
  }
  throw new Error(`the login goes round in circles at ${url.href}`);
}

interface Form {
  readonly action: string;
  readonly fields: ReadonlyMap<string, string>;
  readonly canCancel: boolean;
}

function readForm(html: string): Form | undefined {
  const tag = /<form\b[^>]*>/.exec(html)?.[0];
  if (tag === undefined) return undefined;
  const fields = [...html.matchAll(/<input\b[^>]*>/g)].map(([input]): [string, string] => [
    attribute(input, 'name'),
    attribute(input, 'value'),
  ]);
  return {
    action: attribute(tag, 'action'),
    fields: new Map(fields),
    canCancel: /<button\b[^>]*name="abort"/.test(html),
  };
}

function fillIn({ fields, canCancel }: Form, user: LoginUser): URLSearchParams {
  const filled = new Map(fields);
  if (user === 'cancel') {
    if (canCancel) filled.set('abort', 'yes');
  } else {
    for (const [name, value] of Object.entries(user)) if (filled.has(name)) filled.set(name, value);
  }
  return new URLSearchParams([...filled]);
}

function attribute(tag: string, name: string) {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
  return value.replaceAll('&amp;', '&');
}

/** Stores cookies by host only: the parts of a login that must not share cookies have different hosts. */
function keepCookies(cookies: Map<string, string>, url: URL, response: Response) {
  for (const line of response.headers.getSetCookie()) {
    const [pair = ''] = line.split(';');
    const [name = '', ...value] = pair.split('=');
    cookies.set(`${url.host} ${name}`, value.join('='));
  }
}

function cookieHeader(cookies: ReadonlyMap<string, string>, url: URL) {
  const own = [...cookies].filter(([key, value]) => key.startsWith(`${url.host} `) && value !== '');
  return own.map(([key, value]) => `${key.slice(url.host.length + 1)}=${value}`).join('; ');
}

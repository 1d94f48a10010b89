/** What a browser does at the portal, without a browser: cookies, forms, and the origin of forms. */
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';

export interface PortalPage {
  readonly status: number;
  readonly body: string;
}

export interface PortalVisitor {
  get(path: string): Promise<PortalPage>;
  /** Posts the form with this target of the last page that had one, with its hidden token. */
  post(path: string, fields?: Readonly<Record<string, string>>): Promise<PortalPage>;
  /** Signs in as alice with Keystone. */
  signIn(): Promise<PortalPage>;
  /** The same browser at another replica of the portal. */
  at(port: number): PortalVisitor;
}

export interface PortalVisitorOptions {
  /** PEM. */
  readonly ca: string;
  /** The port of the portal's public URL, which is used for each replica. */
  readonly publicPort: number;
}

const ALICE = { user: 'alice', password: 'alice-pass', domain: 'acme', project: 'web', next: '/' };

/** The action and the hidden token of a form. */
const FORM = /<form method="post" action="([^"]+)">\s*<input type="hidden" name="token" value="([^"]+)"/g;

export function createPortalVisitor({ ca, publicPort }: PortalVisitorOptions): PortalVisitor {
  const cookies = new Map<string, string>();
  const formTokens = new Map<string, string>();

  function receive({ headers }: IncomingMessage, body: string) {
    for (const line of headers['set-cookie'] ?? []) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split('=');
      if (line.includes('Max-Age=0')) cookies.delete(name);
      else cookies.set(name, value);
    }
    for (const [, action = '', token = ''] of body.matchAll(FORM)) formTokens.set(action, token);
  }

  function visit(port: number): PortalVisitor {
    const host = `localhost:${publicPort}`;
    const ask = (method: string, path: string, form?: Readonly<Record<string, string>>) =>
      new Promise<PortalPage>((resolve, reject) => {
        const headers = {
          host,
          cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          ...(form && { origin: `https://${host}`, 'content-type': 'application/x-www-form-urlencoded' }),
        };
        const destination = { host: '127.0.0.1', port, path, servername: 'localhost' };
        const sent = request({ ...destination, method, headers, ca, agent: false }, (response) => {
          text(response).then((body) => {
            receive(response, body);
            resolve({ status: response.statusCode ?? 0, body });
          }, reject);
        });
        sent.on('error', reject);
        sent.end(form && new URLSearchParams(form).toString());
      });
    const post: PortalVisitor['post'] = (path, fields = {}) =>
      ask('POST', path, { ...fields, token: formTokens.get(path) ?? '' });
    return {
      get: (path) => ask('GET', path),
      post,
      async signIn() {
        await ask('GET', '/login');
        return post('/login/keystone', ALICE);
      },
      at: visit,
    };
  }
  return visit(publicPort);
}

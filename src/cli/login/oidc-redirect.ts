/**
 * The loopback listener for the redirect after a login. Any page in a browser can send requests to loopback,
 * so a request counts only with the right `Host`, path and state. RFC 8252 §7.3 and §8.3; RFC 6749
 * §10.12.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { messageOf } from '../../lib/error-code.ts';
import { LoginError } from './credential-source.ts';

export interface Redirect {
  /** The requested URL, with the provider's parameters. */
  readonly url: URL;
  /** Shows the result in the browser. */
  show(title: string, text: string): Promise<void>;
}

export interface RedirectListener {
  /** The redirect URI with the port in use. */
  readonly redirectURI: string;
  /**
   * @param onOtherState called for each redirect with another state
   * @returns the first redirect with this state
   */
  redirectWith(state: string, onOtherState: () => void): Promise<Redirect>;
  close(): Promise<void>;
}

/**
 * @param redirectURI `http://127.0.0.1/…`, `http://[::1]/…` or `http://localhost/…`, without a port
 * @param ports tried in order; 0 is any
 * @throws LoginError if no port is free
 */
export async function startRedirectListener(
  redirectURI: URL,
  ports: readonly number[],
): Promise<RedirectListener> {
  const server = createServer({ requestTimeout: 10_000 });
  const uri = new URL(redirectURI);
  uri.port = String(await listen(server, uri.hostname, ports));

  return {
    redirectURI: uri.href,
    redirectWith(state, onOtherState) {
      const arrived = Promise.withResolvers<Redirect>();
      let over = false;
      server.on('request', (request, response) => {
        const url = addressed(request, uri);
        if (url === undefined) return refuse(response, 404, 'There is nothing here.');
        if (url.searchParams.get('state') !== state) {
          onOtherState();
          return refuse(response, 400, 'This redirect does not belong to the current login.');
        }
        if (over) return refuse(response, 410, 'This login is over. Start it again in the terminal.');
        over = true;
        arrived.resolve({ url, show: (title, text) => page(response, 200, title, text) });
      });
      return arrived.promise;
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** `localhost` is bound as IPv4, which every browser tries. */
async function listen(server: Server, hostname: string, ports: readonly number[]): Promise<number> {
  const host = hostname === '[::1]' ? '::1' : '127.0.0.1';
  const reasons: string[] = [];
  for (const port of ports) {
    try {
      server.listen({ host, port, exclusive: true });
      await once(server, 'listening');
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : port;
    } catch (error) {
      reasons.push(messageOf(error));
    }
  }
  throw new LoginError(`cannot listen for the browser's redirect: ${reasons.join('; ')}`);
}

/** `Host` is compared because another host name may resolve to loopback (DNS rebinding). */
function addressed(request: IncomingMessage, uri: URL): URL | undefined {
  if (request.method !== 'GET' || request.headers.host !== uri.host) return undefined;
  const target = `${uri.origin}${request.url ?? ''}`;
  const url = URL.canParse(target) ? new URL(target) : undefined;
  return url?.pathname === uri.pathname && url.host === uri.host ? url : undefined;
}

function refuse(response: ServerResponse, status: number, text: string): void {
  void page(response, status, 'Not logged in', text);
}

/** Resolves when the page is sent or the connection is closed. */
function page(response: ServerResponse, status: number, title: string, text: string): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve);
    response.writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      connection: 'close',
    });
    response.end(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escapeHTML(title)}</title>
<h1>${escapeHTML(title)}</h1>
<p>${escapeHTML(text)}</p>
</html>
`);
  });
}

function escapeHTML(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

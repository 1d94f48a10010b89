import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { startRedirectListener } from '../../../../src/cli/login/oidc-redirect.ts';

async function start(t: Test, uri = 'http://127.0.0.1/callback', ports = [0]) {
  const listener = await startRedirectListener(new URL(uri), ports);
  t.teardown(() => listener.close());
  return listener;
}

async function visit(url: string, options: { method?: string; headers?: Record<string, string> } = {}) {
  const sent = request(url, options).end();
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

/** A port in use. */
async function takenPort(t: Test) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

t.test(
  'the redirect with the state of the login is accepted once, and its page shows the outcome',
  async (t) => {
    const listener = await start(t);
    const redirected = listener.redirectWith('s', () => t.fail('another state'));
    const page = visit(`${listener.redirectURI}?code=c&state=s`);
    const { url, show } = await redirected;
    t.equal(url.href, `${listener.redirectURI}?code=c&state=s`);
    t.match(await visit(`${listener.redirectURI}?code=d&state=s`), {
      status: 410,
      body: 'This login is over',
    });
    await show('Logged in', 'Go <back> & close "this".');
    t.match(await page, {
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': /^default-src 'none'/,
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        connection: 'close',
      },
      body: '<p>Go &#60;back&#62; &#38; close &#34;this&#34;.</p>',
    });
  },
);

t.test('any other request is refused and has no effect', async (t) => {
  const listener = await start(t);
  let others = 0;
  const redirected = listener.redirectWith('s', () => {
    others += 1;
  });
  const { origin, host } = new URL(listener.redirectURI);
  const query = '?code=c&state=s';
  const wrongHosts = ['evil.example', host.replace('127.0.0.1', 'localhost')];
  const refused = [
    [400, '/callback?code=c&state=another'],
    [400, '/callback?code=c'],
    [404, `/${query}`],
    [404, `/callback/x${query}`],
    [404, '/favicon.ico'],
    [404, `/callback${query}`, { method: 'POST' }],
    ...wrongHosts.map((host): [number, string, object] => [404, `/callback${query}`, { headers: { host } }]),
  ] as const;
  for (const [status, path, options] of refused)
    t.match(await visit(`${origin}${path}`, options), { status }, `${path} ${JSON.stringify(options)}`);
  t.equal(others, 2, 'the user is told of wrong states');
  const page = visit(`${listener.redirectURI}${query}`);
  await (await redirected).show('Logged in', '');
  t.match(await page, { status: 200 });
});

t.test('the first free port is used, and closed at the end', async (t) => {
  const taken = await takenPort(t);
  const listener = await start(t, 'http://localhost/', [taken, 0]);
  t.match(listener.redirectURI, /^http:\/\/localhost:\d+\/$/);
  await listener.close();
  await t.rejects(visit(listener.redirectURI), { code: 'ECONNREFUSED' });
  await t.rejects(start(t, 'http://127.0.0.1/', [taken]), {
    message: new RegExp(`^cannot listen for the browser's redirect: .*EADDRINUSE.*${taken}`),
  });
});

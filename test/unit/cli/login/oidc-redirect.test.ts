import { request } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { type RedirectListener, startRedirectListener } from '../../../../src/cli/login/oidc-redirect.ts';

const never = new AbortController().signal;

async function start(t: Test, uri = 'http://127.0.0.1/', ports = [0]): Promise<RedirectListener> {
  const listener = await startRedirectListener(new URL(uri), ports);
  t.teardown(() => listener.close());
  return listener;
}

interface Shown {
  readonly status: number | undefined;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

function visit(url: string, options: { method?: string; host?: string } = {}): Promise<Shown> {
  const { method = 'GET', host } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: host === undefined ? {} : { host } }, (response) => {
      text(response).then(
        (body) => resolve({ status: response.statusCode, headers: response.headers, body }),
        reject,
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** A port in use. */
async function takenPort(t: Test): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

t.test('the answer with the state of the login is taken, and its page says how it went', async (t) => {
  const listener = await start(t, 'http://127.0.0.1/callback');
  listener.expect('s', () => t.fail('not strange'));
  const page = visit(`${listener.redirectURI}?code=c&state=s`);
  const answer = await listener.answer(never);
  t.equal(answer.url.href, `${listener.redirectURI}?code=c&state=s`);
  await answer.show('Logged in', 'Go <back> & close "this".');
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
});

t.test('what is not the answer is refused, and changes nothing', async (t) => {
  const listener = await start(t, 'http://127.0.0.1/callback');
  let strange = 0;
  listener.expect('s', () => {
    strange += 1;
  });
  const { origin, host } = new URL(listener.redirectURI);
  const query = '?code=c&state=s';
  const refused: Record<string, [number, string, { method?: string; host?: string }?]> = {
    'another state': [400, '/callback?code=c&state=another'],
    'no state': [400, '/callback?code=c'],
    'another path': [404, `/${query}`],
    'a path below': [404, `/callback/x${query}`],
    'the icon that browsers ask for': [404, '/favicon.ico'],
    'another method': [404, `/callback${query}`, { method: 'POST' }],
    'a name that was made to point here': [404, `/callback${query}`, { host: 'evil.example' }],
    'another name of this machine': [
      404,
      `/callback${query}`,
      { host: host.replace('127.0.0.1', 'localhost') },
    ],
  };
  for (const [name, [status, path, options]] of Object.entries(refused)) {
    t.match(await visit(`${origin}${path}`, options), { status }, name);
  }
  t.equal(strange, 2, 'the user is told of wrong states');
  const page = visit(`${listener.redirectURI}${query}`);
  await (await listener.answer(never)).show('Logged in', '');
  t.match(await page, { status: 200 }, 'the right one still counts');
});

t.test('an answer counts once', async (t) => {
  const listener = await start(t);
  listener.expect('s', () => undefined);
  const first = visit(`${listener.redirectURI}?code=c&state=s`);
  const answer = await listener.answer(never);
  t.match(await visit(`${listener.redirectURI}?code=d&state=s`), { status: 410, body: 'This login is over' });
  await answer.show('Logged in', '');
  await first;
});

t.test('an answer that came before it was waited for is not lost', async (t) => {
  const listener = await start(t);
  listener.expect('s', () => undefined);
  const page = visit(`${listener.redirectURI}?code=c&state=s`);
  await visit(`${listener.redirectURI}favicon.ico`);
  const answer = await listener.answer(never);
  await answer.show('Logged in', '');
  t.match(await page, { status: 200 });
});

t.test('waiting ends when it is called off', async (t) => {
  const listener = await start(t);
  const controller = new AbortController();
  const answer = listener.answer(controller.signal);
  controller.abort(new Error('enough'));
  await t.rejects(answer, { message: 'enough' });
  await t.rejects(listener.answer(controller.signal), { message: 'enough' }, 'nor does it begin again');
});

t.test('after close no connection is accepted', async (t) => {
  const listener = await start(t);
  await listener.close();
  await t.rejects(visit(listener.redirectURI), { code: 'ECONNREFUSED' });
});

t.test('the first free port is taken', async (t) => {
  const listener = await start(t, 'http://localhost/', [await takenPort(t), 0]);
  t.match(listener.redirectURI, /^http:\/\/localhost:\d+\/$/);
});

t.test('no port is free', async (t) => {
  const port = await takenPort(t);
  await t.rejects(start(t, 'http://127.0.0.1/', [port]), {
    message: new RegExp(`^cannot listen for the browser's redirect: .*EADDRINUSE.*${port}`),
  });
});

t.test('nothing but this machine is listened to', async (t) => {
  const listener = await start(t, 'http://[::1]/').catch((error: Error) => error);
  if (listener instanceof Error) return t.match(listener.message, /EADDRNOTAVAIL|EAFNOSUPPORT/);
  return t.match(listener.redirectURI, /^http:\/\/\[::1\]:\d+\/$/);
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import t, { type Test } from 'tap';
import { askStonegate } from '../../../src/cli/stonegate-api.ts';

/** A server that sends this response to every request and records the requests. */
async function serverThat(t: Test, status: number, body: string) {
  const asked: { url: string | undefined; headers: object }[] = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push({ url, headers });
    response.writeHead(status, { location: 'https://elsewhere.example/' }).end(body);
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  return { asked, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}` };
}

const nothing = { ca: undefined, authorization: 'Bearer tok' };

t.test('requests have the token and a path below that of the address', async (t) => {
  const { url, asked } = await serverThat(t, 200, '{"a":1}');
  t.strictSame(await askStonegate({ ...nothing, url: `${url}/k8s/` }, '/apis/x'), { a: 1 });
  t.match(asked, [{ url: '/k8s/apis/x', headers: { authorization: 'Bearer tok' } }]);
});

const BAD = [
  [403, '{"kind":"Status","message":"you may not"}', /^you may not \(403\)$/],
  [200, '<html>', /answered 200, and not as Stonegate would/],
  [302, '{}', /answered 302/],
  [500, '{"message":5}', /answered 500/],
] as const;
for (const [status, body, message] of BAD)
  t.test(`the response ${status} ${body} becomes an error message`, async (t) => {
    const { url, asked } = await serverThat(t, status, body);
    await t.rejects(askStonegate({ ...nothing, url }, '/x'), { message });
    t.equal(asked.length, 1, 'no redirect is followed');
  });

for (const [url, message] of [
  ['stonegate', /no address/],
  ['http://stonegate.example', /in the clear/],
  ['https://127.0.0.1:1', /https:\/\/127\.0\.0\.1:1 cannot be asked: .*ECONNREFUSED/],
] as const)
  t.test(`${url} is refused, and the token is not sent`, async (t) => {
    await t.rejects(askStonegate({ ...nothing, url }, '/x'), { message });
  });

/** A 403 is passed on, recognized as one of Stonegate itself, or replaced; nothing of it is sent before. */
import t from 'tap';
import { HeldRefusal } from '../../../src/upstream/held-refusal.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';

const HEAD = [
  ['Audit-Id', 'a'],
  ['Content-Type', 'application/json'],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Kubernetes-Pf-Flowschema-Uid', 'f'],
  ['Content-Length', '9'],
] as const;
const REPLACED = [
  ['Audit-Id', 'a'],
  ['X-Kubernetes-Pf-Flowschema-Uid', 'f'],
  ['Content-Type', 'text/plain'],
  ['Content-Length', '7'],
] as const;
const replacement = {
  status: 404,
  headers: [
    ['Content-Type', 'text/plain'],
    ['Content-Length', '7'],
  ],
  body: Buffer.from('missing'),
} as const;

function hold(
  replace: ((body: Buffer) => typeof replacement | undefined) | undefined,
  read: (body: Buffer) => string | undefined = () => undefined,
) {
  const { response } = fakeExchange();
  const statuses: number[] = [];
  const hooks = { onHead: (status: number) => statuses.push(status) };
  return { held: new HeldRefusal({ response, hooks, read, replace }), response, statuses };
}

t.test('a refusal is replaced as a whole, its own fields included', async (t) => {
  const bodies: string[] = [];
  const { held, response, statuses } = hold((body) => {
    bodies.push(body.toString());
    return replacement;
  });
  held.writeHead(403, HEAD);
  held.write(Buffer.from('forb'));
  held.write(Buffer.from('idden'));
  t.notOk(response.headersSent, 'nothing is sent before it is read');
  held.end();
  t.strictSame(bodies, ['forbidden']);
  t.equal(response.status, 404);
  t.strictSame(response.headers, REPLACED);
  t.equal(response.text, 'missing');
  t.strictSame(statuses, [404]);
  t.ok(held.closed);
});

t.test('one that is compressed, of another type, or large is replaced unread', async (t) => {
  for (const [name, value] of [
    ['Content-Encoding', 'gzip'],
    ['Content-Type', 'application/vnd.kubernetes.protobuf'],
    ['Content-Length', '5000'],
  ]) {
    if (name === undefined || value === undefined) continue;
    const bodies: number[] = [];
    const { held, response } = hold((body) => {
      bodies.push(body.length);
      return replacement;
    });
    held.writeHead(403, [...HEAD.filter(([other]) => other !== name), [name, value]]);
    t.strictSame([response.status, response.text, bodies], [404, 'missing', [0]], name);
    t.strictSame(response.headers, REPLACED);
    t.ok(held.closed, 'the rest is not written');
  }
});

t.test('one that turns out to be large is replaced then', async (t) => {
  const { held, response } = hold(() => replacement);
  held.writeHead(403, HEAD.slice(0, 4));
  held.write(Buffer.alloc(5_000));
  t.strictSame([response.status, response.text], [404, 'missing']);
});

t.test('without a replacement it passes as it is', async (t) => {
  for (const replace of [undefined, () => undefined]) {
    const { held, response, statuses } = hold(replace);
    held.writeHead(403, HEAD);
    held.write(Buffer.from('forbidden'));
    held.end();
    t.strictSame([response.status, response.headers, response.text], [403, HEAD, 'forbidden']);
    t.strictSame(statuses, [403]);
  }
});

t.test("a refusal of Stonegate's own rights comes before, and no other status is replaced", async (t) => {
  const own = hold(
    () => replacement,
    () => 'own',
  );
  own.held.writeHead(403, HEAD);
  own.held.end();
  t.equal(own.held.refusal, 'own');
  t.notOk(own.response.headersSent);
  const other = hold(() => replacement);
  other.held.writeHead(409, HEAD);
  other.held.write(Buffer.from('forbidden'));
  other.held.end();
  t.equal(other.response.status, 409);
});

/** A response that Stonegate reads on its way to the client. */
import t from 'tap';
import { ObservedBody } from '../../../src/upstream/observed-body.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';

function observe() {
  const { response } = fakeExchange();
  const bodies: string[] = [];
  const endedBefore: boolean[] = [];
  const observed = new ObservedBody(response, (body) => {
    bodies.push(body.toString());
    endedBefore.push(response.closed);
  });
  return { observed, response, bodies, endedBefore };
}

t.test('the client gets each piece at once; the whole is read before the response ends', async (t) => {
  const { observed, response, bodies, endedBefore } = observe();
  observed.writeHead(201, [['Content-Type', 'application/json']]);
  t.equal(response.status, 201);
  const piece = Buffer.from('{"a":');
  observed.write(piece);
  t.equal(response.text, '{"a":');
  piece.fill('x');
  observed.write(Buffer.from('1}'));
  t.same(bodies, []);
  observed.end();
  t.same(bodies, ['{"a":1}'], 'a copy: memory of a piece is used again');
  t.same(endedBefore, [false]);
  t.ok(response.closed);
});

t.test('a response with a length is read before the client has its last piece', async (t) => {
  const { observed, response, bodies, endedBefore } = observe();
  observed.writeHead(201, [['Content-Length', '7']]);
  observed.write(Buffer.from('{"a":'));
  t.same(bodies, []);
  observed.write(Buffer.from('1}'));
  t.same(bodies, ['{"a":1}']);
  t.same(endedBefore, [false]);
  t.ok(response.closed);
  t.equal(response.text, '{"a":1}');
});

t.test('a compressed response is not read', async (t) => {
  const { observed, response, bodies } = observe();
  observed.writeHead(201, [['Content-Encoding', 'gzip']]);
  observed.write(Buffer.from('zipped'));
  observed.end();
  t.equal(response.text, 'zipped');
  t.same(bodies, []);
});

t.test('a response over 64 kB is passed on and not read', async (t) => {
  const { observed, response, bodies } = observe();
  observed.writeHead(201, []);
  observed.write(Buffer.alloc(64 * 1024, 'a'));
  observed.write(Buffer.from('b'));
  observed.end();
  t.equal(response.text.length, 64 * 1024 + 1);
  t.same(bodies, []);
});

t.test('a response that breaks off is not read', async (t) => {
  const { observed, response, bodies } = observe();
  observed.writeHead(201, []);
  observed.write(Buffer.from('{"a'));
  observed.destroy();
  t.ok(response.destroyed);
  t.same(bodies, []);
});

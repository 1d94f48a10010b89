/** Writing a body whose memory counts against a tenant. */
import t from 'tap';
import { writeAccounted } from '../../../../src/proxy/response/write-response.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';

const BODY = Buffer.alloc(200_000, 'x');

t.test('the memory of a body is released when the client has accepted the body', async (t) => {
  const exchange = fakeExchange();
  let released = 0;
  exchange.response.writeHead(200, []);
  writeAccounted(exchange, BODY, () => {
    released += 1;
  });
  t.equal(exchange.response.text.length, BODY.length);
  t.ok(exchange.response.closed);
  t.equal(released, 1);
  exchange.leave();
  t.equal(released, 1, 'the memory is released once');
});

t.test('the body of a slow client counts until the client disconnects', async (t) => {
  const exchange = fakeExchange();
  let released = 0;
  let resume = () => {};
  const response = {
    ...exchange.response,
    headersSent: true,
    get closed() {
      return exchange.signal.aborted;
    },
    write: () => false,
    onDrain(callback: () => void) {
      resume = callback;
    },
  };
  writeAccounted({ response, signal: exchange.signal }, BODY, () => {
    released += 1;
  });
  resume();
  t.equal(released, 0);
  exchange.leave();
  t.equal(released, 1);
  resume();
  t.equal(released, 1);
});

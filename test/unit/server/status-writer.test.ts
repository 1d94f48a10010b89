/** Status objects. */
import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { toStatus } from '../../../src/errors/to-status.ts';
import { writeStatus } from '../../../src/server/status-writer.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';

t.test('a refusal is a Kubernetes Status with its audit ID', async (t) => {
  const { response } = fakeExchange();
  writeStatus(response, toStatus(new StatusError('AccessDenied', 'no'), 'id-1'), 'id-1');
  t.equal(response.status, 403);
  t.match(Object.fromEntries(response.headers), {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(response.text)),
    'Audit-Id': 'id-1',
  });
  t.match(response.json(), {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: 403,
    reason: 'Forbidden',
  });
  t.equal(response.closed, true);
});

t.test('a response that has begun is aborted, never followed by a second one', async (t) => {
  const { response } = fakeExchange();
  response.writeHead(200, []);
  response.write(Buffer.from('half'));
  writeStatus(response, toStatus(new Error('x'), 'id-1'), 'id-1');
  t.equal(response.destroyed, true);
  t.equal(response.text, 'half');
});

t.test('nothing is written to a client that disconnected', async (t) => {
  const exchange = fakeExchange();
  exchange.leave();
  writeStatus(exchange.response, toStatus(new Error('x'), 'id-1'), 'id-1');
  t.equal(exchange.response.status, 0);
});

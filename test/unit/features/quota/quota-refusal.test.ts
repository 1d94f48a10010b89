import t from 'tap';
import { createLedger } from '../../../../src/features/quota/ledger.ts';
import { refusalOf } from '../../../../src/features/quota/quota-refusal.ts';
import { createReservation } from '../../../../src/features/quota/reservation.ts';
import { ONE } from '../../../../src/kubernetes/quantity.ts';

const HARD = { pods: '10' };

t.test('the message says if only requests in progress stand in the way', async (t) => {
  const pods = (amount: bigint) => new Map([['pods', amount * ONE]]);
  const waiting = createReservation({
    ...{ id: 'a', mark: '1', revision: 0, object: { resource: 'pods', namespace: 'web', name: 'a' } },
    ...{ usage: pods(2n), seen: new Map() },
  });
  const ledger = createLedger(pods(10n), pods(8n), [waiting]);
  t.match(refusalOf({ kind: 'exceeded', requested: pods(1n), ledger }, 'acme', HARD), {
    message:
      'exceeded quota: acme, requested: pods=1, used: pods=8, reserved: pods=2, limited: pods=10 (only requests in progress are in the way: try again in a minute)',
  });
});

t.test('D207 a refusal that can be retried says when: 429 with Retry-After', async (t) => {
  t.match(refusalOf({ kind: 'contended' }, 'acme', HARD), { code: 429, retryAfterSeconds: 1 });
  t.match(refusalOf({ kind: 'full' }, 'acme', HARD), { code: 429, retryAfterSeconds: 5 });
  t.match(refusalOf({ kind: 'absent' }, 'acme', HARD), { code: 503 });
  t.match(refusalOf({ kind: 'uncounted', resources: ['pods'] }, 'acme', HARD), {
    code: 503,
    message: /pods/,
  });
});

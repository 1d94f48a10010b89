import t from 'tap';
import { createCircuitBreaker } from '../../../src/cache/circuit-breaker.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('after a failure no request is sent for a moment, then one is', (t) => {
  const clock = createFakeClock();
  const told: string[] = [];
  const circuit = createCircuitBreaker({
    pause: 1_000,
    clock,
    onOpen: (problem) => told.push(problem),
    onClose: () => told.push('closed'),
  });
  t.equal(circuit.enter(), true);
  circuit.failed('refused');
  t.equal(circuit.problem, 'refused');
  clock.advance(999);
  t.equal(circuit.enter(), false);
  clock.advance(1);
  t.same([circuit.enter(), circuit.enter()], [true, false]);
  circuit.failed('timeout');
  t.equal(circuit.enter(), false);
  circuit.succeeded();
  circuit.succeeded();
  t.equal(circuit.enter(), true);
  t.same(told, ['refused', 'closed']);
  t.end();
});

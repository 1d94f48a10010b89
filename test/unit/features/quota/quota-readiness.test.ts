import t from 'tap';
import { createQuotaReadiness } from '../../../../src/features/quota/build.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

t.test('a replica whose quotas miss a kind is not ready, for at most a minute after its start', (t) => {
  const clock = createFakeClock();
  const unlisted = new Set<string>();
  const readiness = createQuotaReadiness({ counter: { unlisted } }, clock, clock.now());
  t.equal(readiness.notReadyBecause(), undefined);
  unlisted.add('deployments.apps');
  t.match(readiness.notReadyBecause(), /deployments\.apps/);
  clock.advance(60_000);
  t.equal(readiness.notReadyBecause(), undefined, 'it still serves everything else');
  t.end();
});

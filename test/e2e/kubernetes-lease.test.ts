/** Leases on a real kube-apiserver: replicas without Redis agree on one holder. */
import t from 'tap';
import { createObjects } from '../../src/kubernetes/objects.ts';
import { createLease, LEASE_TTL } from '../../src/kubernetes/reconcile/lease.ts';
import { STONEGATE_ACCOUNT } from '../../src/kubernetes/upstream-request.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { adminUpstream } from '../support/kubernetes/admin-upstream.ts';
import { startKubernetes } from '../support/kubernetes/api-server.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';

t.test(
  'only one replica holds the Lease, until it releases it or is gone',
  { skip: missingKubernetes() },
  async (t) => {
    const kubernetes = await startKubernetes(t);
    const objects = createObjects(adminUpstream(t, kubernetes), STONEGATE_ACCOUNT);
    const clock = createFakeClock();
    const replica = () =>
      createLease({
        objects,
        place: { namespace: 'kube-system' },
        name: 'stonegate-policies',
        clock,
        random: systemRandom,
      });
    const [one, other, third] = [replica(), replica(), replica()];
    t.same(await Promise.all([one.hold(), other.hold(), third.hold()]).then((held) => held.filter(Boolean)), [
      true,
    ]);
    for (const lease of [one, other, third]) await lease.release();
    t.equal(await other.hold(), true, 'it was released');
    t.equal(await other.hold(), true, 'and is renewed');
    t.equal(await one.hold(), false);
    clock.advance(LEASE_TTL);
    t.equal(await one.hold(), true, 'its holder is gone');
    t.equal(await other.hold(), false);
  },
);

import fc from 'fast-check';
import t from 'tap';
import { RequestSpans } from '../../../../src/features/traces/request-spans.ts';
import { newTraceContext } from '../../../../src/features/traces/trace-context.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { openMode } from '../../../support/fake-pipeline.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';

const requestTo = (target: string) => outgoingOf(openMode, keystoneIdentity('alice'), { target });

t.test('the name of a span has nothing of a path but names that a resource can have', async () => {
  const clock = createFakeClock();
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (text) => {
      const segment = text.replaceAll(/[^\w!$&'()*+,;=@-]/g, 'é').slice(0, 200);
      const context = newTraceContext(systemRandom, 1);
      const spans = new RequestSpans({ clock, random: systemRandom, context });
      const target = `/api/v1/namespaces/ns/pods/p/${encodeURI(segment)}`;
      const [root] = spans.end(requestTo(target));
      return /^GET [a-z]+ ([a-z0-9./-]+|_OTHER)$/.test(root?.name ?? '');
    }),
  );
});

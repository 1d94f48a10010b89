/** The reviews of one user are stored as long as a name may come up again. */
import t from 'tap';
import { MAX_SHOWN, ReviewsOfUser } from '../../../../src/access/namespaces/reviews-of-user.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

t.test(
  'names of namespaces that are gone are forgotten, those that may be reviewed again are not',
  async (t) => {
    const clock = createFakeClock();
    const visible = new Set(['stays']);
    const reviews = new ReviewsOfUser(clock, (name) => visible.has(name));
    const store = (name: string, isAllowed = true) =>
      reviews.store(name, { isAllowed, at: clock.now(), begun: clock.now(), generation: 1 }, 1);
    store('stays');
    for (let at = 0; at < 100; at += 1) store(`gone-${at}`);
    store('revoked');
    clock.advance(MAX_SHOWN);
    store('revoked', false);
    clock.advance(MAX_SHOWN);
    store('next');
    t.equal(reviews.size, 3);
    t.match(reviews.get('revoked'), { revoked: { revision: 1 } }, 'a watch may show it still');
    t.ok(reviews.get('stays'), 'it is in the view');
    clock.advance(MAX_SHOWN + 1);
    store('next');
    t.equal(reviews.get('revoked'), undefined);
  },
);

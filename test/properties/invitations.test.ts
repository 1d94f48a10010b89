/**
 * An invitation is accepted at most once, by the invited user, before it expires, and with a right that the
 * inviter has at that moment, whatever inviters, invited users, replicas and the API server do concurrently.
 */

import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import type { Invitations } from '../../src/features/invitations/invitations.ts';
import { VERIFIED_EMAIL } from '../../src/tenancy/identity.ts';
import { keystoneIdentity } from '../support/identities.ts';
import { createInvitationWorld, REQUEST, secretOf } from '../support/invitation-world.ts';

const RUNS = 300;
const HOUR = 3_600_000;
const EMAIL = 'bob@example.com';
const NAMES = ['bob', 'carol', 'dave'] as const;
const DESIGNATED = keystoneIdentity('bob', { auditAnnotations: { [VERIFIED_EMAIL]: EMAIL } });
const INVITED = [DESIGNATED, keystoneIdentity('carol'), keystoneIdentity('dave', { home: 'globex' })];
const ALICE = keystoneIdentity('alice');

const index = fc.nat({ max: 9 });
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('invite'), email: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('accept'), of: index, by: fc.nat({ max: 2 }), on: index }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('show'), of: index, by: fc.nat({ max: 2 }), on: index }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('withdraw'), of: index, on: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('regain') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('disable') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail'), how: fc.constantFrom('before', 'after') }) },
);
/** All steps of a round run concurrently. */
const round = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
  hours: fc.constantFrom(0, 1, 100),
});

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Offered {
  readonly secret: string;
  readonly namespace: string;
  readonly email: boolean;
  /** How many rights had been granted when it was withdrawn. */
  withdrawnAt: number;
}

t.test(
  'no sequence of invitations, acceptances and lost rights grants more than an invitation promises',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(round, { maxLength: 8 }), fc.scheduler(), async (rounds, scheduler) => {
        const world = createInvitationWorld(() => scheduler.schedule(Promise.resolve()));
        const replicas = [world.addReplica(), world.addReplica()];
        const offered: Offered[] = [];
        let invited = 0;
        const replica = (on: number): Invitations => replicas[on % 2] ?? world.addReplica();

        async function accept(one: Offered, by: number, on: number): Promise<void> {
          const identity = INVITED[by] ?? DESIGNATED;
          const before = world.gifts.length;
          try {
            const offer = await replica(on).accept(identity, one.secret, REQUEST);
            const username = `${by === 2 ? 'globex' : 'acme'}:${NAMES[by]}`;
            const isGiven = world.gifts
              .slice(before)
              .some(
                (gift) =>
                  'namespace' in gift.target &&
                  gift.target.namespace === one.namespace &&
                  gift.username === username,
              );
            if (!offer.accepted || !isGiven)
              throw new Error('the acceptance succeeded, but nothing was granted');
          } catch (error) {
            assertExpected(error, world.outage !== undefined);
          }
        }

        async function take(step: Step): Promise<void> {
          if (step.do === 'lose') world.powerless.add('acme:alice');
          if (step.do === 'regain') world.powerless.delete('acme:alice');
          if (step.do === 'disable') world.disabled.add('alice');
          if ('how' in step) world.outage = step.how;
          if ('email' in step) {
            invited += 1;
            const namespace = `n${invited}`;
            const spec = { namespace, role: 'edit', ...(step.email && { email: EMAIL }) };
            try {
              const made = await replica(0).invite(ALICE, spec, REQUEST);
              offered.push({ secret: secretOf(made), namespace, email: step.email, withdrawnAt: Infinity });
            } catch (error) {
              if (!(error instanceof StatusError && error.code === 'AccessDenied')) throw error;
            }
          }
          const one = 'of' in step ? offered[step.of % Math.max(1, offered.length)] : undefined;
          if (one === undefined || !('of' in step)) return;
          if (step.do === 'withdraw') {
            try {
              await replica(step.on).withdraw(ALICE, one.secret.slice(4, 12), REQUEST);
              one.withdrawnAt = Math.min(one.withdrawnAt, world.gifts.length);
            } catch (error) {
              if (!(error instanceof StatusError && error.code === 'Conflict')) throw error;
            }
          } else if ('by' in step && step.do === 'accept') await accept(one, step.by, step.on);
          else if ('by' in step)
            await replica(step.on)
              .show(INVITED[step.by] ?? DESIGNATED, one.secret, REQUEST)
              .catch((error) => assertExpected(error, false));
        }

        for (const { steps, hours } of rounds) {
          const wasDisabled = world.disabled.size > 0;
          const given = world.gifts.length;
          await scheduler.waitFor(Promise.all(steps.map(take)));
          if (wasDisabled && world.gifts.length > given)
            throw new Error('a right was granted for a disabled inviter');
          for (const { target } of world.gifts.slice(given)) {
            const found = world
              .stored()
              .find((stored) => fc.stringify(stored.target) === fc.stringify(target));
            if (found === undefined || found.expiresAt <= world.clock.now())
              throw new Error('a right was granted after the invitation had expired');
          }
          world.outage = undefined;
          world.clock.advance(hours * HOUR);
        }

        for (const { namespace, email, withdrawnAt } of offered) {
          const gifts = world.gifts.flatMap((gift, at) =>
            'namespace' in gift.target && gift.target.namespace === namespace ? [{ ...gift, at }] : [],
          );
          if (gifts.length > 1) throw new Error('the right was granted twice');
          const [gift] = gifts;
          if (gift !== undefined && gift.at >= withdrawnAt)
            throw new Error('a right was granted after the invitation was withdrawn');
          const may = email ? ['acme:bob'] : ['acme:bob', 'acme:carol'];
          if (gift !== undefined && !may.includes(gift.username))
            throw new Error(`the right was granted to ${gift.username}`);
          const stored = world
            .stored()
            .find(({ target }) => 'namespace' in target && target.namespace === namespace);
          if (stored?.ended?.state === 'accepted' && gift === undefined)
            throw new Error('the stored invitation is accepted, but nothing was granted');
        }

        world.powerless.clear();
        world.disabled.clear();
        for (const one of offered) {
          const stored = world.stored().find(({ id }) => id === one.secret.slice(4, 12));
          if (stored === undefined || stored.ended || stored.expiresAt <= world.clock.now()) continue;
          await scheduler.waitFor(replica(0).accept(DESIGNATED, one.secret, REQUEST));
        }
      }),
      { numRuns: RUNS },
    );
  },
);

const messages = new Set<string>();

function assertExpected(error: unknown, isOutage: boolean): void {
  if (!(error instanceof StatusError)) throw error;
  if (error.code === 'NotFound') messages.add(error.message);
  else if (!isOutage || error.http < 500) throw error;
  if (messages.size > 1) throw new Error('refusals differ in their message');
}

/**
 * Checks once a minute whether a filtered watch would still be answered for the same user. Groups that depend
 * on the namespace are looked up again; other groups are as old as the stream's credential, which is
 * validated again elsewhere.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import { fingerprintOfSubject } from '../../rbac/subject-key.ts';
import type { AccessSubjects } from '../access-subject.ts';
import type { Outgoing } from '../request-context.ts';

export interface RecheckOptions {
  readonly access: Pick<AccessIndex, 'state'>;
  readonly subjects: Pick<AccessSubjects, 'subjectOf'>;
  readonly clock: Clock;
  /** Called if the index is no longer current: a new request is forwarded. */
  readonly end: () => void;
  /** Called if the user has other groups. */
  readonly expire: () => void;
}

const PERIOD = 60_000;

/** @returns a function that ends the checks */
export function recheckPeriodically(
  outgoing: Outgoing,
  opened: SubjectByNamespace,
  { access, subjects, clock, end, expire }: RecheckOptions,
): () => void {
  let timer: Timer;
  let isOver = false;
  const later = () => {
    timer = clock.after(PERIOD, () => void recheck());
  };
  const recheck = async () => {
    if (access.state(opened.cluster.tenant) !== 'current') end();
    else if (outgoing.proven.assignmentsOf === undefined) later();
    else if (await isSame()) later();
    else if (!isOver) expire();
  };
  /** While Keystone cannot be asked, the user counts as unchanged. */
  const isSame = async () => {
    try {
      return fingerprintOfSubject(await subjects.subjectOf(outgoing)) === fingerprintOfSubject(opened);
    } catch (error) {
      return error instanceof StatusError && error.code === 'KeystoneUnavailable';
    }
  };
  later();
  return () => {
    isOver = true;
    timer.cancel();
  };
}

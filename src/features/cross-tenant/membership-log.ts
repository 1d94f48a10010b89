/**
 * Audit events of Stonegate's own: a tenant has joined an administration, or left it. No client asked for it:
 * the change of a label, a role or a policy did it.
 * https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event
 */

import { TENANCY_GROUP, TENANCY_VERSION } from '../../kubernetes/custom-resource.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { asciiJSON, foreignText } from '../../lib/untrusted-text.ts';
import { microTime } from '../../observability/audit-event.ts';
import type { AuditSink } from '../../observability/audit-log.ts';

/** Longer texts are cut. */
const MAX_TEXT = 512;
/** The user of the event: Stonegate itself. */
const USER = 'stonegate';

export interface MembershipEvent {
  readonly verb: 'grant' | 'revoke';
  readonly administration: string;
  readonly tenant: string;
  /** The reason that the administration's author wrote. */
  readonly reason: string | undefined;
}

export type MembershipLog = (event: MembershipEvent) => void;

interface MembershipLogOptions extends Pick<Runtime, 'clock' | 'random'> {
  readonly sink: AuditSink;
}

export function createMembershipLog({ sink, clock, random }: MembershipLogOptions): MembershipLog {
  return ({ verb, administration, tenant, reason }) => {
    const now = microTime(clock.now());
    const event = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: random.uuid(),
      stage: 'ResponseComplete',
      requestURI: '',
      verb,
      user: { username: USER },
      objectRef: {
        resource: 'tenantadministrations',
        name: foreignText(administration, MAX_TEXT),
        apiGroup: TENANCY_GROUP,
        apiVersion: TENANCY_VERSION,
      },
      requestReceivedTimestamp: now,
      stageTimestamp: now,
      annotations: {
        'stonegate.dev/entered-tenant': foreignText(tenant, MAX_TEXT),
        'stonegate.dev/policy': `administration:${foreignText(administration, MAX_TEXT)}`,
        ...(reason !== undefined && { 'stonegate.dev/reason': foreignText(reason, MAX_TEXT) }),
      },
    };
    sink.write(asciiJSON(JSON.stringify(event)));
  };
}

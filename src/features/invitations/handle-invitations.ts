/**
 * Invitations in Stonegate's own API.
 */
import { ownIdentity } from '../../proxy/as-identity.ts';
import type { ServedResource } from '../../proxy/feature.ts';
import { type OwnBodyOptions, ownKind, readOwnSpec, refuseDryRun } from '../../proxy/own-body.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { answerOwnObjects, type OwnObjectKind, typeMeta } from '../../proxy/response/own-objects.ts';
import { deletedResponse, secretResponse, withWarnings } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import type { InvitationRequest } from './invitation-targets.ts';
import {
  acceptanceSpecSchema,
  type InvitationSpec,
  invitationSpecSchema,
  OWN_ACCEPTANCES,
  OWN_INVITATIONS,
  type ShownInvitation,
} from './invitation-v1alpha1.ts';
import type { Invitations } from './invitations.ts';

const KIND: OwnObjectKind<ShownInvitation> = {
  ...OWN_INVITATIONS,
  columns: [
    ['To', 'What it grants', ({ spec }) => describeTarget(spec)],
    ['Email', 'Who it is for', ({ spec }) => spec.email ?? '<any>'],
    ['Inviter', 'Who invites', ({ status }) => status.inviter],
    ['State', 'Whether it may be accepted', ({ status }) => status.reason ?? status.state],
    ['Expires', 'When it ends', ({ status }) => status.expirationTimestamp],
  ],
};
/** kubectl prints warnings, but not the object unasked. */
const SHOWN_ONCE = 'the link is only in this response: kubectl create -o jsonpath={.status.link} prints it';
const INVITATION = ownKind('Invitation', 'an invitation', invitationSpecSchema);
const ACCEPTANCE = ownKind('InvitationAcceptance', 'an acceptance', acceptanceSpecSchema);

export function invitationResources(invitations: Invitations, bodies: OwnBodyOptions): ServedResource[] {
  return [
    {
      ...OWN_INVITATIONS,
      async handle(outgoing) {
        const { exchange } = outgoing;
        const { name } = routeAs(outgoing, 'own-api');
        const identity = ownIdentity(outgoing);
        const request = requestOf(outgoing);
        await refuseDryRun(outgoing, bodies);
        if (exchange.method === 'POST') {
          const spec = await readOwnSpec(exchange, INVITATION, bodies);
          const made = await invitations.invite(identity, spec, request);
          return withWarnings(secretResponse({ ...typeMeta(KIND), ...made }), [SHOWN_ONCE]);
        }
        if (exchange.method === 'DELETE') {
          await invitations.withdraw(identity, name, request);
          return deletedResponse(KIND.name, name);
        }
        return answerOwnObjects(outgoing, name, KIND, bodies.clock.now(), () => invitations.list(identity));
      },
    },
    {
      ...OWN_ACCEPTANCES,
      async handle(outgoing) {
        const identity = ownIdentity(outgoing);
        await refuseDryRun(outgoing, bodies);
        const { token, accept } = await readOwnSpec(outgoing.exchange, ACCEPTANCE, bodies);
        const request = requestOf(outgoing);
        const status =
          accept === true
            ? await invitations.accept(identity, token, request)
            : await invitations.show(identity, token, request);
        return secretResponse({ ...typeMeta(OWN_ACCEPTANCES), status });
      },
    },
  ];
}

function requestOf({ exchange, auditID, sourceIPs }: Outgoing): InvitationRequest {
  return { origin: { auditID, clientAddress: sourceIPs[0] }, signal: exchange.signal };
}

function describeTarget({ namespace, role, team }: InvitationSpec): string {
  return team === undefined ? `${role} in ${namespace}` : `team ${team}`;
}

/**
 * Responds to requests for `teams` of Stonegate's own API.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { reviewSubject } from '../../proxy/acting-tenant.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import {
  isDryRun,
  type OwnBodyOptions,
  ownKind,
  readDeleteOptions,
  readOwnObject,
} from '../../proxy/own-body.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { answerOwnObjects, type OwnObjectKind, typeMeta } from '../../proxy/response/own-objects.ts';
import { deletedResponse, jsonResponse } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { OWN_TEAMS, type ShownTeam, teamSpecSchema } from './team-v1alpha1.ts';
import type { TeamCaller, Teams } from './teams.ts';

export interface TeamHandlerOptions extends OwnBodyOptions {
  readonly teams: Teams;
  readonly mode: Pick<TenancyMode, 'reviewTenant'>;
}

const TEAM = ownKind('Team', 'a team', teamSpecSchema);
const KIND: OwnObjectKind<ShownTeam> = {
  ...OWN_TEAMS,
  columns: [
    ['Members', 'How many users are in the team', ({ spec }) => String(spec.members.length)],
    ['Managers', 'Who may change the team', ({ spec }) => spec.managers.join(', ')],
  ],
};

export function createTeamHandler(options: TeamHandlerOptions): RouteHandler<UpstreamResponse> {
  const { teams, mode, clock } = options;

  async function readChange({ exchange, info }: Outgoing, name: string) {
    const { metadata, spec } = await readOwnObject(exchange, TEAM, options);
    const { resourceVersion, name: named = '' } = metadata ?? {};
    if (name !== '' && named !== name)
      throw new StatusError('BodyMalformed', 'the name of the object does not match the name on the URL');
    return { name: named, spec, resourceVersion, isDryRun: isDryRun(info) };
  }

  return async (outgoing) => {
    const { exchange, tenant } = outgoing;
    const caller: TeamCaller = {
      ...reviewSubject(outgoing, mode.reviewTenant),
      tenant,
      signal: exchange.signal,
    };
    const { name } = routeAs(outgoing, 'own-api');
    const respond = (status: number, team: ShownTeam) => jsonResponse(status, { ...typeMeta(KIND), ...team });
    switch (exchange.method) {
      case 'POST':
        return respond(201, await teams.create(caller, await readChange(outgoing, name)));
      case 'PUT':
        return respond(200, await teams.update(caller, await readChange(outgoing, name)));
      case 'DELETE': {
        const { dryRun } = await readDeleteOptions(outgoing, options);
        const { metadata } = await teams.delete(caller, name, dryRun);
        return deletedResponse(KIND.name, name, metadata.uid);
      }
      default:
        return answerOwnObjects(outgoing, name, KIND, clock.now(), async () =>
          name === '' ? teams.list(caller) : [await teams.get(caller, name)],
        );
    }
  };
}

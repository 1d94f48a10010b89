/**
 * Responds to requests for `members` and `peoplesearches` of Stonegate's own API.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { actingIdentity } from '../../proxy/as-identity.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import {
  isDryRun,
  type OwnBodyOptions,
  ownKind,
  readDeleteOptions,
  readOwnSpec,
} from '../../proxy/own-body.ts';
import { type Outgoing, setImpersonationSent } from '../../proxy/request-context.ts';
import { answerOwnObjects, type OwnObjectKind, typeMeta } from '../../proxy/response/own-objects.ts';
import { deletedResponse, jsonResponse, withWarnings } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import {
  MEMBERS,
  type Member,
  memberSpecSchema,
  PEOPLE_SEARCHES,
  peopleSearchSpecSchema,
} from './member-v1alpha1.ts';
import type { ChangeOptions, MembersService } from './members-service.ts';
import type { PeopleSearch } from './search-people.ts';

const MEMBER = ownKind('Member', 'a member', memberSpecSchema);
const PEOPLE_SEARCH = ownKind('PeopleSearch', 'a search', peopleSearchSpecSchema);

const KIND: OwnObjectKind<Member> = {
  ...MEMBERS,
  isAgeless: true,
  columns: [
    ['Type', 'What the member is', ({ spec }) => spec.type],
    ['Member', 'The name of the member', ({ spec, status }) => status.displayName ?? spec.name],
    ['Role', 'What the member may do', ({ spec }) => spec.role],
    ['Owner', 'Whether the member may grant roles', ({ status }) => String(status.owner)],
    [
      'From',
      'Where the role comes from',
      ({ status }) => status.from.map(({ kind, name }) => `${kind}/${name}`).join(','),
    ],
  ],
};

export function createMembersHandler(
  service: MembersService,
  bodies: OwnBodyOptions,
): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const { exchange } = outgoing;
    const { namespace, name } = routeAs(outgoing, 'own-api');
    const identity = actingIdentity(outgoing);
    if (exchange.method === 'GET') {
      const { result, notes } = await service.list(identity, namespace);
      const answer = await answerOwnObjects(outgoing, name, KIND, bodies.clock.now(), () => result);
      return withWarnings(answer, notes);
    }
    const change = changeOptions(outgoing);
    if (exchange.method === 'DELETE') {
      const options = { ...change, ...(await readDeleteOptions(outgoing, bodies)) };
      const { notes } = await service.remove(identity, namespace, name, options);
      return withWarnings(deletedResponse(KIND.name, name), notes);
    }
    const { force = false, ...spec } = await readOwnSpec(exchange, MEMBER, bodies, namespace);
    const isNew = exchange.method === 'POST';
    const { result, notes } = isNew
      ? await service.add(identity, namespace, spec, change)
      : await service.set(identity, namespace, name, spec, { ...change, force });
    const object = { ...typeMeta(KIND), ...result };
    return withWarnings(jsonResponse(isNew ? 201 : 200, object), notes);
  };
}

export function createPeopleSearchHandler(
  find: PeopleSearch,
  bodies: OwnBodyOptions,
): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const spec = await readOwnSpec(outgoing.exchange, PEOPLE_SEARCH, bodies);
    const people = await find(actingIdentity(outgoing), spec.prefix);
    const search = { metadata: { creationTimestamp: null }, spec, status: { people } };
    return jsonResponse(201, { ...typeMeta(PEOPLE_SEARCHES), ...search });
  };
}

/** @throws StatusError ImpersonationForbidden for a user whom Stonegate does not impersonate */
function changeOptions(outgoing: Outgoing): ChangeOptions & { readonly dryRun: boolean } {
  const { exchange, info, auditID, sourceIPs, sender } = outgoing;
  if (sender.kind === 'client')
    throw new StatusError(
      'ImpersonationForbidden',
      'with a token of the API server itself, members are changed by RoleBindings: kubectl create rolebinding',
    );
  setImpersonationSent(outgoing);
  return {
    origin: { auditID, clientAddress: sourceIPs[0] },
    signal: exchange.signal,
    dryRun: isDryRun(info),
  };
}

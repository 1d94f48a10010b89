/**
 * Responds to requests for `members` and `peoplesearches` of Stonegate's own API.
 */
import { z } from 'zod';
import { StatusError } from '../../errors/status-error.ts';
import { malformed } from '../../kubernetes/body-fields.ts';
import { column } from '../../kubernetes/lists/namespace-columns.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { parseJSON } from '../../lib/parse-json.ts';
import { firstParameter } from '../../lib/query.ts';
import { actingIdentity } from '../../proxy/as-identity.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import { type OwnBodyOptions, ownKind, readOwnSpec } from '../../proxy/own-body.ts';
import { readBody } from '../../proxy/request/read-body.ts';
import { type Outgoing, setImpersonationSent } from '../../proxy/request-context.ts';
import { answerOwnObjects, type OwnObjectKind } from '../../proxy/response/own-objects.ts';
import { jsonResponse, withWarnings } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import { MEMBERS, type Member, memberSpecSchema, peopleSearchSpecSchema } from './member-v1alpha1.ts';
import type { ChangeOptions, MembersService } from './members-service.ts';
import type { PeopleSearch } from './search-people.ts';

const API_VERSION = 'stonegate.dev/v1alpha1';
const MEMBER = ownKind('Member', 'a member', memberSpecSchema);
const PEOPLE_SEARCH = ownKind('PeopleSearch', 'a search', peopleSearchSpecSchema);

const KIND: OwnObjectKind<Member> = {
  apiVersion: API_VERSION,
  kind: 'Member',
  resource: 'members',
  isAgeless: true,
  columns: [
    { ...column('Type', 'What the member is'), cell: ({ spec }) => spec.type },
    {
      ...column('Member', 'The name of the member'),
      cell: ({ spec, status }) => status.displayName ?? spec.name,
    },
    { ...column('Role', 'What the member may do'), cell: ({ spec }) => spec.role },
    { ...column('Owner', 'Whether the member may give roles'), cell: ({ status }) => String(status.owner) },
    {
      ...column('From', 'Where the role comes from'),
      cell: ({ status }) => status.from.map(({ kind, name }) => `${kind}/${name}`).join(','),
    },
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
      const notes: string[] = [];
      const answer = await answerOwnObjects(
        outgoing,
        name || undefined,
        KIND,
        bodies.clock.now(),
        async () => {
          const listed = await service.list(identity, namespace);
          notes.push(...listed.notes);
          return listed.result;
        },
      );
      return withWarnings(answer, notes);
    }
    const change = changeOptions(outgoing);
    if (exchange.method === 'DELETE') {
      const { force, dryRun } = await readDeleteOptions(outgoing, bodies);
      const options = { ...change, force, dryRun: dryRun || change.dryRun };
      const { notes } = await service.remove(identity, namespace, name, options);
      const details = { name, group: 'stonegate.dev', kind: MEMBERS.name };
      const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
      return withWarnings(jsonResponse(200, status), notes);
    }
    const { force = false, ...spec } = await readOwnSpec(exchange, MEMBER, bodies, namespace);
    const isNew = exchange.method === 'POST';
    const { result, notes } = isNew
      ? await service.add(identity, namespace, spec, change)
      : await service.set(identity, namespace, name, spec, { ...change, force });
    const object = { kind: KIND.kind, apiVersion: API_VERSION, ...result };
    return withWarnings(jsonResponse(isNew ? 201 : 200, object), notes);
  };
}

export function createPeopleSearchHandler(
  search: PeopleSearch,
  bodies: OwnBodyOptions,
): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const spec = await readOwnSpec(outgoing.exchange, PEOPLE_SEARCH, bodies);
    const people = await search(actingIdentity(outgoing), spec.prefix);
    const metadata = { creationTimestamp: null };
    return jsonResponse(201, {
      kind: 'PeopleSearch',
      apiVersion: API_VERSION,
      metadata,
      spec,
      status: { people },
    });
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
    // Nothing must be changed, whatever value the client sends.
    dryRun: (firstParameter(info.rawQuery, 'dryRun') ?? '') !== '',
  };
}

/** `kubectl delete --force` sends no grace period. */
const deleteOptionsSchema = z.object({
  gracePeriodSeconds: z.number().nullish(),
  dryRun: z.array(z.string()).nullish(),
});

/** @throws StatusError BodyMalformed, BodyTooLarge, BodyTimeout */
async function readDeleteOptions({ exchange }: Outgoing, { limits, clock }: OwnBodyOptions) {
  const body = await readBody(exchange, { ...limits, what: 'a deletion' }, clock);
  const data = body.length === 0 ? {} : parseJSON(body.toString(), deleteOptionsSchema);
  if (data === undefined) throw malformed('it is no DeleteOptions');
  return { force: data.gracePeriodSeconds === 0, dryRun: (data.dryRun ?? []).length > 0 };
}

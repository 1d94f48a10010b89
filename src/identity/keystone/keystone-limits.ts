/**
 * Reads Keystone's unified limits of one service in one region. Keystone shows all of them only to a token
 * of the system: to one of a project or domain it lists that one's own, and to an unscoped token none, with
 * status 200. So the scope of Stonegate's token is checked before a list is believed.
 * https://docs.openstack.org/keystone/latest/admin/unified-limits.html
 */
import { z } from 'zod';
import type { KeystoneClient } from './keystone.ts';
import { keystoneUnavailable } from './keystone-http.ts';
import { createKeystoneLists, type KeystoneLists, LIST_TIMEOUT } from './keystone-lists.ts';
import { referenceSchema } from './keystone-response.ts';

/** As a limit: unlimited. */
export const UNLIMITED = -1;

/** Limits by the name of the resource. */
export type ResourceLimits = ReadonlyMap<string, number>;

export interface KeystoneLimits {
  /** In `strict_two_level` the limit of a domain bounds the sum of its projects. */
  readonly model: 'flat' | 'strict_two_level';
  /** What each project and domain has without a limit of its own. */
  readonly registered: ResourceLimits;
  /** By the id of the domain. */
  readonly ofDomains: ReadonlyMap<string, ResourceLimits>;
  /** By the id of the project. */
  readonly ofProjects: ReadonlyMap<string, ResourceLimits>;
}

export interface LimitedService {
  /** The name or the id of the service. */
  readonly service: string;
  /** Absent: the limits that belong to no region. */
  readonly region?: string;
}

const text = z.string().min(1);
const limit = z.int().min(UNLIMITED);
const limitedSchema = z.object({ service_id: text, region_id: text.nullish(), resource_name: text });
const registeredSchema = limitedSchema.extend({ default_limit: limit });
const limitSchema = limitedSchema
  .extend({ resource_limit: limit, project_id: text.nullish(), domain_id: text.nullish() })
  .refine(({ project_id, domain_id }) => (project_id ?? undefined) !== (domain_id ?? undefined));
const modelSchema = z.object({ name: z.string().regex(/^[\w.-]{1,64}$/) });
const serviceSchema = referenceSchema.extend({ name: z.string().optional() });

/** @throws StatusError KeystoneUnavailable, with the reason for the operator as its cause */
export async function readKeystoneLimits(
  { service, ownToken }: Pick<KeystoneClient, 'service' | 'ownToken'>,
  wanted: LimitedService,
): Promise<KeystoneLimits> {
  const scope = (await ownToken())?.scope.kind ?? 'unscoped';
  if (service === undefined || scope !== 'system')
    throw keystoneUnavailable(
      `Keystone shows all limits only to a token of the system, and Stonegate's is ${scope === 'unscoped' ? scope : `of a ${scope}`}: give authentication.keystone.serviceCredential the scope { system: true }`,
    );
  const lists = createKeystoneLists(service);
  const id = await serviceID(lists, wanted.service);
  const query = `?service_id=${encodeURIComponent(id)}`;
  const [model, registered, limits] = await Promise.all([
    lists.one('/limits/model', 'model', modelSchema),
    lists.all(`/registered_limits${query}`, 'registered_limits', registeredSchema, LIST_TIMEOUT),
    lists.all(`/limits${query}`, 'limits', limitSchema, LIST_TIMEOUT),
  ]);
  // A Keystone that ignores the filter lists other services too.
  const isWanted = ({ service_id, region_id }: z.infer<typeof limitedSchema>) =>
    service_id === id && (region_id ?? undefined) === wanted.region;
  const overrides = limits.filter(isWanted);
  return {
    model: modelOf(model?.name),
    registered: new Map(
      registered.filter(isWanted).map(({ resource_name, default_limit }) => [resource_name, default_limit]),
    ),
    ofDomains: byOwner(overrides, 'domain_id'),
    ofProjects: byOwner(overrides, 'project_id'),
  };
}

async function serviceID(lists: KeystoneLists, wanted: string): Promise<string> {
  const services = await lists.all('/services', 'services', serviceSchema);
  const [found, ...others] = services.filter(({ id, name }) => id === wanted || name === wanted);
  if (found !== undefined && others.length === 0) return found.id;
  throw keystoneUnavailable(
    `Keystone has ${found === undefined ? 'no service' : 'several services'} ${JSON.stringify(wanted)}: correct quota.keystoneLimits.service`,
  );
}

/** oslo.limit spells the name with hyphens, Keystone with underscores. */
function modelOf(name: string | undefined): KeystoneLimits['model'] {
  const model = name?.replaceAll('-', '_');
  if (model === 'flat' || model === 'strict_two_level') return model;
  throw keystoneUnavailable(
    `Keystone enforces limits by the model ${name ?? '(none)'}; known are flat and strict_two_level`,
  );
}

function byOwner(
  limits: readonly z.infer<typeof limitSchema>[],
  owner: 'domain_id' | 'project_id',
): ReadonlyMap<string, ResourceLimits> {
  const owned = Map.groupBy(limits, (one) => one[owner] ?? undefined);
  return new Map(
    [...owned].flatMap(([id, of]) =>
      id === undefined
        ? []
        : [[id, new Map(of.map(({ resource_name, resource_limit }) => [resource_name, resource_limit]))]],
    ),
  );
}

/**
 * Asks Keystone, the issuers and Redis, for `stonegate check`. A source of identities whose every credential
 * would be refused is an error only if all sources are like that, since otherwise some requests succeed.
 */
import type { KeystoneConfiguration } from '../../config/core-configuration.ts';
import { readQuota } from '../../features/keystone-limits/build.ts';
import type { KeystoneLimitsConfiguration } from '../../features/keystone-limits/keystone-limits-configuration.ts';
import type { KeystoneClient } from '../../identity/keystone/keystone.ts';
import { readRevocationEvents } from '../../identity/keystone/keystone-revocations.ts';
import type { KeystoneToken } from '../../tenancy/keystone-v3.ts';
import { createIssuers } from '../authenticators.ts';
import { createShared, OPERATOR_TIMEOUT } from '../cache.ts';
import type { StonegateBuild } from '../configuration.ts';
import { createKeystone } from '../keystone.ts';
import { type CheckResult, error, failureOf, warning, withinLimit } from './check-result.ts';

interface SourceResult {
  readonly results: readonly CheckResult[];
  /** No credential of this source can be accepted, as the first result says. */
  readonly isUseless: boolean;
}

/** @param build its components are disposed by the caller */
export async function checkProviders(build: StonegateBuild): Promise<CheckResult[]> {
  const { tokenFile, basicAuthFile, clientCertificates, tokenReview, anonymous } =
    build.loaded.configuration.authentication;
  const others = [tokenFile, basicAuthFile, clientCertificates, tokenReview];
  const hasOthers = anonymous.enabled || others.some((source) => source !== undefined);
  const [redis, ...sources] = await Promise.all([
    checkRedis(build),
    ...checkedKeystone(build),
    ...createIssuers(build).map(({ keys }, index) =>
      checkIssuer(`authentication.jwt[${index}].issuer`, () => keys.keys(undefined)),
    ),
  ]);
  const failsAlways = !hasOthers && sources.length > 0 && sources.every(({ isUseless }) => isUseless);
  const results = sources.flatMap(({ results: [first, ...more] }) =>
    first === undefined ? [] : [failsAlways ? error(first.path, first.message) : first, ...more],
  );
  return [...results, ...redis];
}

/** @param path the place in the configuration */
function useless(path: string, what: string, reason: string): SourceResult {
  return { results: [warning(path, `no ${what} can be accepted: ${reason}`)], isUseless: true };
}

function checkedKeystone(build: StonegateBuild): Promise<SourceResult>[] {
  const { authentication, bindings, quota } = build.loaded.configuration;
  const { keystone } = authentication;
  const client = createKeystone(build)?.client;
  if (keystone === undefined || client === undefined) return [];
  const lists =
    keystone.roleAssignments !== undefined ||
    (keystone.serviceCredential !== undefined && bindings.credential !== undefined);
  const needs = { lists, limits: quota?.keystoneLimits };
  return [checkKeystone(client, keystone, needs, build.runtime.clock.now())];
}

/** Without limits nothing may be used, so each problem of them is an error. */
async function checkLimits(
  client: KeystoneClient,
  configuration: KeystoneLimitsConfiguration | undefined,
): Promise<CheckResult[]> {
  if (configuration === undefined) return [];
  try {
    const { refusals } = await readQuota(client, configuration);
    return refusals.map(({ subject, reason }) => error(subject, reason));
  } catch (thrown) {
    return [error('quota.keystoneLimits', failureOf(thrown).reason)];
  }
}

const KEYSTONE = 'authentication.keystone';
const CREDENTIAL = `${KEYSTONE}.serviceCredential`;

type KeystoneQuestion = Parameters<typeof askKeystone>;

async function checkKeystone(...question: KeystoneQuestion): Promise<SourceResult> {
  try {
    return await withinLimit(askKeystone(...question));
  } catch (thrown) {
    const { reason, isUnreachable } = failureOf(thrown);
    return isUnreachable
      ? unreachable(`${KEYSTONE}.url`, 'Keystone', reason)
      : useless(KEYSTONE, 'Keystone token', `${reason}: correct url, caFile or serviceCredential`);
  }
}

interface KeystoneNeeds {
  /** Whether Stonegate lists roles and projects. */
  readonly lists: boolean;
  /** Undefined if Stonegate uses no limits. */
  readonly limits: KeystoneLimitsConfiguration | undefined;
}

async function askKeystone(
  client: KeystoneClient,
  { revocationEvents }: KeystoneConfiguration,
  needs: KeystoneNeeds,
  now: number,
): Promise<SourceResult> {
  const { service, directory } = client;
  await client.probe();
  const own = await client.ownToken();
  const withoutEvents = service && (await reasonWithout(readRevocationEvents(service, now)));
  if (own !== undefined && withoutEvents !== undefined && !mayValidate(own))
    return useless(
      CREDENTIAL,
      'Keystone token',
      `its roles are ${own.roles.map(({ name }) => name).join(', ')}, with which Keystone does not let it validate tokens: grant its user the role service`,
    );
  const withoutLists =
    needs.lists && directory
      ? await reasonWithout(
          (async () => {
            await directory.disabledScopes();
            await directory.roleNames();
            await directory.roleAssignmentsOf(UNKNOWN_USER);
          })(),
        )
      : undefined;
  return {
    results: [
      ...(withoutEvents !== undefined && revocationEvents !== false
        ? [
            warning(
              `${KEYSTONE}.revocationEvents`,
              `a revoked token is accepted until its cache entry expires: ${withoutEvents}`,
            ),
          ]
        : []),
      ...(withoutLists === undefined
        ? []
        : [warning(CREDENTIAL, `roles and projects cannot be listed: ${withoutLists}`)]),
      ...(await checkLimits(client, needs.limits)),
    ],
    isUseless: false,
  };
}

/** No user has this id. */
const UNKNOWN_USER = 'stonegate-check';

/** By Keystone's default policy. `admin` may be implied by no role, so the token names it. */
function mayValidate({ roles, scope }: KeystoneToken): boolean {
  return roles.some(
    ({ name }) => name === 'service' || name === 'admin' || (name === 'reader' && scope.kind === 'system'),
  );
}

async function reasonWithout(asked: Promise<unknown>): Promise<string | undefined> {
  try {
    await asked;
    return undefined;
  } catch (thrown) {
    return failureOf(thrown).reason;
  }
}

function unreachable(path: string, what: string, reason: string): SourceResult {
  const message = `${what} cannot be reached from here, so it was not checked: ${reason}`;
  return { results: [warning(path, message)], isUseless: false };
}

/** @param path of the issuer in the configuration */
async function checkIssuer(path: string, fetchKeys: () => Promise<unknown>): Promise<SourceResult> {
  try {
    await withinLimit(fetchKeys());
    return { results: [], isUseless: false };
  } catch (thrown) {
    const { reason, isUnreachable } = failureOf(thrown);
    return isUnreachable
      ? unreachable(`${path}.url`, 'the issuer', reason)
      : useless(path, 'token of this issuer', `${reason}: correct url, discoveryURL or caFile`);
  }
}

/** Requests continue without Redis, so this is never an error. */
async function checkRedis(build: StonegateBuild): Promise<CheckResult[]> {
  const { store } = createShared(build, OPERATOR_TIMEOUT);
  const { redis } = build.loaded.configuration.cache;
  if (store === undefined || redis === undefined) return [];
  const isReady = await store.whenReady(OPERATOR_TIMEOUT);
  if (isReady && (await store.get([`${redis.keyPrefix}check`], 1)) !== undefined) return [];
  const reason = store.problem() ?? 'no connection';
  return [
    warning(
      'cache.redis',
      `Redis does not answer, so each process keeps its identities to itself, and \`stonegate cache drop\` fails: ${reason}: correct url, caFile or the user's rights there`,
    ),
  ];
}

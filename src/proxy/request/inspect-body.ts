/**
 * Reads the bodies that a body rule has to see before they are forwarded, those in protobuf that the
 * API server would misread, and those of writes for which others wait. The body is read whole, bounded in
 * size, time and memory; what is forwarded is exactly what the rules have seen. The bodies that handlers read
 * themselves count against the same memory.
 */

import { StatusError } from '../../errors/status-error.ts';
import { isWorkload } from '../../kubernetes/request-info.ts';
import type { ReviewPathOf } from '../../kubernetes/review-paths.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import type { Clock } from '../../lib/clock.ts';
import { type HeaderList, headerValue } from '../../lib/header-list.ts';
import { readJSON } from '../../lib/json-object.ts';
import type { ByteBudget } from '../../limits/byte-budget.ts';
import { requestFraming } from '../../upstream/header-rules.ts';
import { accountOf, actingTenant } from '../acting-tenant.ts';
import type { BodyRule, InspectedRequest, UserResponse } from '../body-rule.ts';
import type { Outgoing } from '../request-context.ts';
import { MAX_YAML_BYTES } from './body-yaml.ts';
import { fetchAsUser } from './fetch-as-user.ts';
import {
  forwardedType,
  isProtobuf,
  jsonLimits,
  type MediaType,
  mediaTypeOf,
  parseBody,
} from './inspected-format.ts';
import { readBody } from './read-body.ts';

export interface BodyInspectionOptions {
  readonly rules: readonly BodyRule[];
  /** Whether every body in protobuf is forwarded as JSON. */
  readonly convertsProtobuf: boolean;
  /**
   * Requests that other tenants' wait for while they are sent (Arktos): a body must not arrive slowly then.
   * Absent if there are none.
   */
  readonly reviewPathOf?: ReviewPathOf | undefined;
  /** Bounds all bodies that are held at the same time, by tenant. */
  readonly memory: ByteBudget;
  /** The longest body that a handler reads. */
  readonly ownBodyBytes: number;
  /** Sends what the body rules ask as the user. */
  readonly fetcher: UpstreamFetcher;
  readonly clock: Clock;
  /** Milliseconds for the whole body. */
  readonly bodyTimeout: number;
}

/** What to forward instead of the client's body. */
export interface Inspected {
  readonly body: Buffer;
  readonly headers: HeaderList;
  /** Called when the body is no longer used. */
  release(): void;
}

export interface BodyInspection {
  /**
   * @returns undefined, at once, if the body need not be read: nearly always
   * @throws StatusError MediaTypeUnsupported, BodyTooLarge, BodyTimeout, BodyMalformed, TenantRateExceeded,
   *   and as the rules do
   */
  inspect(outgoing: Outgoing): Promise<Inspected> | undefined;
  /**
   * Counts the body that a handler reads against its tenant.
   *
   * @returns called when the handler is done; undefined without a body
   * @throws StatusError TenantRateExceeded
   */
  reserve(outgoing: Pick<Outgoing, 'exchange' | 'tenant'>): (() => void) | undefined;
}

const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** What kube-apiserver reads of a body at most. */
const MAX_BYTES = 3 * 1024 * 1024;
/** Fields that describe another body than the one that is sent. */
const ABOUT_THE_BODY: ReadonlySet<string> = new Set(['content-type', 'content-encoding']);

export function createBodyInspection(options: BodyInspectionOptions): BodyInspection {
  const { rules, convertsProtobuf, memory, ownBodyBytes, reviewPathOf } = options;
  return {
    reserve({ exchange, tenant }) {
      const framing = WITHOUT_BODY.has(exchange.method) ? 'none' : requestFraming(exchange);
      if (framing === 'none') return undefined;
      const { resize, release } = memory.reservation(tenant);
      const bytes = framing === 'chunked' ? ownBodyBytes : Math.min(framing, ownBodyBytes);
      if (!resize(bytes)) throw noMemory();
      return release;
    },
    inspect(outgoing) {
      const { exchange, info, tenant } = outgoing;
      if (WITHOUT_BODY.has(exchange.method) || !info.isResourceRequest || outgoing.route.kind !== 'forward')
        return undefined;
      // The options of a deletion concern no rule.
      const concerned =
        exchange.method === 'DELETE'
          ? []
          : rules.filter((one) => one.appliesTo(info, actingTenant(outgoing)));
      const isConverted = convertsProtobuf && isProtobuf(exchange.headers) && !isWorkload(info);
      if (concerned.length === 0 && !isConverted)
        return reviewPathOf?.(exchange.method, info) === undefined ? undefined : readWhole(outgoing, options);
      const { resize, release } = memory.reservation(tenant);
      if (!resize(bytesToReserve(exchange.headers, concerned))) throw noMemory();
      return inspectBy(concerned, outgoing, options).then(
        (inspected) => ({ ...inspected, release }),
        (error: unknown) => {
          release();
          throw error;
        },
      );
    },
  };
}

/** Reads a body that is forwarded as it is. */
async function readWhole(
  { exchange, tenant, upstreamHeaders }: Outgoing,
  { memory, clock, bodyTimeout }: BodyInspectionOptions,
): Promise<Inspected> {
  const { resize, release } = memory.reservation(tenant);
  const onSize = (bytes: number) => {
    if (!resize(bytes)) throw noMemory();
  };
  try {
    const limits = { bodyBytes: MAX_BYTES, bodyTimeout, what: 'this resource', onSize };
    return { body: await readBody(exchange, limits, clock), headers: upstreamHeaders, release };
  } catch (error) {
    release();
    throw error;
  }
}

function noMemory(): StatusError {
  return new StatusError(
    'TenantRateExceeded',
    'too many requests with a body to be read are under way; try again later',
  );
}

/** @throws StatusError BodyTooLarge if the client declares more than is read */
function bytesToReserve(headers: HeaderList, rules: readonly BodyRule[]): number {
  const most = maxBytes(rules);
  const declared = headerValue(headers, 'content-length');
  const length = declared === undefined ? most : Number(declared);
  if (length <= most) return length;
  throw tooLarge(most);
}

function maxBytes(rules: readonly BodyRule[]): number {
  return Math.min(MAX_BYTES, ...rules.map((one) => one.maxBytes));
}

function tooLarge(bytes: number): StatusError {
  return new StatusError(
    'BodyTooLarge',
    `Request entity too large: limit is ${bytes} bytes for this resource`,
  );
}

async function inspectBy(
  rules: readonly BodyRule[],
  outgoing: Outgoing,
  { clock, bodyTimeout, fetcher }: BodyInspectionOptions,
): Promise<Omit<Inspected, 'release'>> {
  const { exchange, upstreamHeaders } = outgoing;
  const request = inspectedRequest(outgoing, fetcher);
  const type = mediaTypeOf(exchange.method, exchange.headers, rules);
  const bodyBytes = bytesOf(type, rules);
  const bytes = await readBody(exchange, { bodyBytes, bodyTimeout, what: 'this resource' }, clock);
  // A deletion without options has no body.
  const isEmpty = bytes.length === 0 && rules.length === 0;
  const sent = isEmpty ? bytes : parseBody(bytes, type.encoding, jsonLimits(rules));
  let content = sent;
  for (const rule of rules) {
    const { format } = type;
    content = (await rule.admit({ format, content }, request)) ?? content;
  }
  const asItCame = content === sent && (type.encoding === 'json' || sent === bytes);
  const body = asItCame ? bytes : Buffer.from(JSON.stringify(content));
  // Controls and empty messages are much longer in JSON.
  if (body.length > MAX_BYTES) throw tooLarge(MAX_BYTES);
  const others = upstreamHeaders.filter(([name]) => !ABOUT_THE_BODY.has(name.toLowerCase()));
  return {
    body,
    headers: [...others, ['Content-Type', forwardedType(type.format)]],
  };
}

function bytesOf({ encoding }: MediaType, rules: readonly BodyRule[]): number {
  return encoding === 'yaml' ? Math.min(MAX_YAML_BYTES, maxBytes(rules)) : maxBytes(rules);
}

function inspectedRequest(outgoing: Outgoing, fetcher: UpstreamFetcher): InspectedRequest {
  const { exchange, info, route, user, sender } = outgoing;
  if (!info.isResourceRequest || route.kind !== 'forward')
    throw new StatusError('InvariantBroken', 'Internal error occurred: only what is forwarded is inspected');
  return {
    method: exchange.method,
    info,
    path: route.path,
    user,
    tenant: actingTenant(outgoing),
    account: accountOf(outgoing),
    sender,
    get signal() {
      return exchange.signal;
    },
    async readStored(): Promise<UserResponse> {
      const { status, body } = await fetchAsUser(fetcher, outgoing, { path: route.path, query: '' });
      return { status, content: readJSON(body) };
    },
  };
}

/**
 * Responds to requests for Stonegate's own API: who the client is, and how a request would be decided. The
 * body of an explanation holds a credential: it is read only here, and neither logged nor audited.
 */
import { JSON_TYPE } from '../api/meta-v1.ts';
import type { ExplainedRequest, ExplanationRequest, SelfIdentity } from '../api/stonegate-v1alpha1.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { headerValue } from '../lib/header-list.ts';
import { timestamp } from '../lib/kubernetes-time.ts';
import type { Answerer } from './delivery.ts';
import type { Explain } from './explain/explain-request.ts';
import type { UpstreamResponse } from './ports.ts';
import { type BodyLimits, readBody } from './read-body.ts';
import type { Outgoing, Scoped } from './request-context.ts';

export interface ExplanationAnswererOptions {
  readonly explain: Explain;
  readonly limits: BodyLimits;
  readonly clock: Clock;
}

export function createExplanationAnswerer(options: ExplanationAnswererOptions): Answerer<UpstreamResponse> {
  return {
    answer: (outgoing) =>
      outgoing.route.kind === 'own-api' && outgoing.route.resource === 'explanations'
        ? answerExplanation(outgoing, options)
        : undefined,
  };
}

async function answerExplanation(
  { exchange, sourceIPs }: Outgoing,
  { explain, limits, clock }: ExplanationAnswererOptions,
): Promise<UpstreamResponse> {
  assertJSON(headerValue(exchange.headers, 'content-type') ?? JSON_TYPE);
  const body = await readBody(exchange, { ...limits, what: 'an explanation' }, clock);
  const asker = { peerAddress: sourceIPs[0], signal: exchange.signal };
  const explanation = await explain(readExplanationSpec(body), asker);
  return {
    status: 201,
    headers: [
      ['Content-Type', JSON_TYPE],
      ['Cache-Control', 'no-store'],
    ],
    body: Buffer.from(`${JSON.stringify(explanation)}\n`),
  };
}

function assertJSON(contentType: string): void {
  const [type = ''] = contentType.split(';', 1);
  if (type.trim().toLowerCase() === JSON_TYPE) return;
  throw new StatusError(
    'MediaTypeUnsupported',
    `the body of the request was in an unknown format - accepted media types include: ${JSON_TYPE}`,
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** @throws StatusError BodyMalformed; it repeats nothing of the body */
function readExplanationSpec(body: Buffer): ExplanationRequest['spec'] {
  const { kind, apiVersion, spec } = fieldsOf(parse(body), 'the body');
  if (kind !== 'Explanation' || apiVersion !== 'stonegate.dev/v1alpha1')
    throw malformed('it is no Explanation of stonegate.dev/v1alpha1');
  const { request, token } = fieldsOf(spec, 'spec');
  return {
    request: readRequest(fieldsOf(request, 'spec.request')),
    ...(token !== undefined && { token: textOf(token, 'spec.token') }),
  };
}

function readRequest({ method, path, headers = [], upgrade }: Fields): ExplainedRequest {
  if (!Array.isArray(headers)) throw malformed('spec.request.headers is no list');
  return {
    method: textOf(method, 'spec.request.method'),
    path: textOf(path, 'spec.request.path'),
    headers: headers.map(headerOf),
    ...(upgrade !== undefined && { upgrade: textOf(upgrade, 'spec.request.upgrade') }),
  };
}

function headerOf(header: unknown): readonly [string, string] {
  const [name, value, ...more]: unknown[] = Array.isArray(header) ? header : [];
  if (more.length > 0) throw malformed('a member of spec.request.headers is no pair of name and value');
  return [textOf(name, 'the name of a header'), textOf(value, 'the value of a header')];
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // The parser's own message quotes what it read.
    throw malformed('it is no JSON');
  }
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed(`${what} is no object`);
  return Object.fromEntries(Object.entries(value));
}

function textOf(value: unknown, what: string): string {
  if (typeof value !== 'string') throw malformed(`${what} is no string`);
  return value;
}

function malformed(why: string): StatusError {
  return new StatusError('BodyMalformed', `the explanation cannot be made: ${why}`);
}

export const selfIdentityAnswerer: Answerer<UpstreamResponse> = {
  answer(outgoing) {
    const { route } = outgoing;
    if (route.kind !== 'own-api' || route.resource !== 'selfidentity') return undefined;
    return Promise.resolve(answerWith(selfIdentityOf(outgoing)));
  },
};

function answerWith(identity: SelfIdentity): UpstreamResponse {
  return {
    status: 200,
    headers: [
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-cache, private'],
    ],
    body: Buffer.from(`${JSON.stringify(identity)}\n`),
  };
}

/** The same for a user who is known by other means than a request. */
export function selfIdentityOf({
  user,
  tenant,
  identity,
  impersonator,
}: Pick<Scoped, 'user' | 'tenant' | 'identity' | 'impersonator'>): SelfIdentity {
  // The facts of a credential do not hold for the user whom its holder impersonates.
  const known = impersonator === undefined ? identity.scope : undefined;
  const { roles = [], ...scope } = known ?? {};
  return {
    kind: 'SelfIdentity',
    apiVersion: 'stonegate.dev/v1alpha1',
    metadata: { creationTimestamp: null },
    status: {
      user,
      tenant,
      authenticator: identity.authenticator,
      ...('kind' in scope && { scope }),
      roles,
      expirationTimestamp: timestamp(identity.expiresAt),
    },
  };
}

/**
 * Explains how a request would be decided: runs the stages that serve requests, without `provision` and the
 * last, and records what each decided. Nothing is forwarded or provisioned. What the stages ask of Keystone,
 * an issuer or the API server they ask here too, and it counts against the tenant's limit.
 */
import { PassThrough, Readable } from 'node:stream';
import { StatusError } from '../../errors/status-error.ts';
import { type AccessReviewer, resourceAttributesOf } from '../../kubernetes/access-reviewer.ts';
import type { Exchange, ResponseWriter } from '../../lib/exchange.ts';
import { redact } from '../../lib/untrusted-text.ts';
import { plainWatchOnly } from '../../proxy/answer-filtered.ts';
import type { FilteredReason } from '../../proxy/filtered-reason.ts';
import type { ReasonOf } from '../../proxy/rbac-reasons.ts';
import type { Outgoing, Received } from '../../proxy/request-context.ts';
import { listRequest } from '../../proxy/route-kind.ts';
import { requireScope } from '../../proxy/scope-guard.ts';
import {
  actAs,
  admit,
  authenticate,
  authorize,
  impersonate,
  limit,
  parseRequestInfo,
  receive,
  resolveTenant,
  rewrite,
  type Stages,
} from '../../proxy/stages.ts';
import {
  actingWords,
  credentialWords,
  crossingWords,
  deliveryWords,
  factsOf,
  identityWords,
  requestWords,
  rewriteWords,
  rolesWords,
  sentOf,
  sentWords,
  tenantWords,
} from './descriptions.ts';
import type { Explanation, ExplanationSpec } from './stonegate-v1alpha1.ts';
import { askRBAC, Trail } from './trail.ts';
import type { WarningsOn } from './warnings.ts';
import { watchedStages } from './watched-stages.ts';

export interface ExplainOptions {
  /** Called when a request is explained: explanations are a feature of these stages themselves. */
  readonly stages: () => Stages;
  /** Asks the API server's RBAC, which decides last. */
  readonly reviewer: AccessReviewer;
  /** Why RBAC decides so; absent without the RBAC index. */
  readonly reasonOf?: ReasonOf | undefined;
  /** Whether the response would be filtered; absent without the RBAC index. */
  readonly filteredReason?: FilteredReason | undefined;
  readonly warningsOn?: WarningsOn;
}

export type Explain = (spec: ExplanationSpec, client: ExplainingClient) => Promise<Explanation>;

export function createExplain(options: ExplainOptions): Explain {
  return async (spec, client) => {
    const stages = options.stages();
    const redactSecrets = withoutSecrets(spec.token);
    const trail = new Trail(redactSecrets);
    const context = receive(describedExchange(spec, client), stages);
    const walked = await walk(context, watchedStages(stages, trail), options, trail);
    const outgoing = walked?.isFiltered === false ? walked.outgoing : undefined;
    if (outgoing !== undefined)
      await askRBAC(outgoing, stages.mode, options.reviewer, trail, options.reasonOf);
    const warnings = (walked && (await options.warningsOn?.(walked.outgoing))) ?? [];
    const { method, path, upgrade } = spec.request;
    return {
      kind: 'Explanation',
      apiVersion: 'stonegate.dev/v1alpha1',
      metadata: { creationTimestamp: null },
      spec: { request: { method, path: redactSecrets(path), ...(upgrade !== undefined && { upgrade }) } },
      status: {
        outcome: outcomeOf(walked),
        ...(trail.refusal && { refusal: trail.refusal }),
        stages: trail.stages,
        credential: redactSecrets(credentialWords(context.exchange.headers)),
        ...factsOf(context, stages.mode.facts, redactSecrets),
        ...(outgoing && sentOf(outgoing, redactSecrets)),
        ...(warnings.length > 0 && { warnings: warnings.map(redactSecrets) }),
      },
    };
  };
}

interface Walked {
  readonly outgoing: Outgoing;
  /** Whether Stonegate answers with a filtered response, whatever the API server says of the request. */
  readonly isFiltered: boolean;
}

/** @returns undefined if a stage refuses; the trail records the refusal */
async function walk(
  received: Received,
  stages: Stages,
  { filteredReason }: ExplainOptions,
  trail: Trail,
): Promise<Walked | undefined> {
  try {
    const identified = await trail.stage(
      'parseRequestInfo',
      () => parseRequestInfo(received, stages),
      ({ info }) => requestWords(info),
    );
    const authenticated = await trail.stage(
      'authenticate',
      () => authenticate(identified, stages),
      ({ identity }) => identityWords(identity, stages.mode.facts),
    );
    const scoped = await trail.stage(
      'resolveTenant',
      () => resolveTenant(authenticated, stages),
      ({ identity, tenant, user, crossing }) =>
        `${tenantWords(identity, tenant, user.username)}${rolesWords(identity)}${crossingWords(crossing)}`,
    );
    const acting = await trail.stage('actAs', () => actAs(scoped, stages), actingWords);
    const authorized = await trail.stage(
      'authorize',
      () => authorize(acting, stages),
      () => 'every authorizer allows the request',
    );
    await trail.stage(
      'admit',
      () => admit(authorized, stages),
      () => 'the form of the request is fine',
    );
    await trail.stage(
      'limit',
      () => limit(authorized, stages),
      () => 'within the rates of the tenant and the user, if they have any',
    );
    const routed = await trail.stage(
      'rewrite',
      () => rewrite(authorized, stages),
      ({ route, info }) => rewriteWords(route, info.rawPath),
    );
    const outgoing = await trail.stage('impersonate', () => impersonate(routed, stages), sentWords);
    const filtered = await trail.stage(
      'deliver',
      () => filteredWords(outgoing, filteredReason, stages),
      (words) => words ?? deliveryWords(outgoing),
    );
    return { outgoing, isFiltered: filtered !== undefined };
  } catch (error) {
    if (trail.refusal === undefined) throw error;
    return undefined;
  }
}

/**
 * @returns undefined if the API server decides about the request
 * @throws StatusError if Stonegate would refuse to filter it, or AccessDenied because of an access token
 */
async function filteredWords(
  outgoing: Outgoing,
  filteredReason: FilteredReason | undefined,
  { mode }: Pick<Stages, 'mode'>,
): Promise<string | undefined> {
  const { kind } = outgoing;
  const reason =
    kind === 'namespaces' || kind === 'all-namespaces'
      ? await filteredReason?.(outgoing, resourceAttributesOf(listRequest(outgoing), undefined))
      : undefined;
  if (reason instanceof StatusError) throw reason;
  if (reason !== undefined && outgoing.exchange.upgrade !== undefined) throw plainWatchOnly();
  if (reason !== undefined) return `Stonegate answers: ${reason}`;
  requireScope(outgoing, mode);
  return undefined;
}

function outcomeOf(walked: Walked | undefined): Explanation['status']['outcome'] {
  if (walked === undefined) return 'refused';
  const { outgoing, isFiltered } = walked;
  if (isFiltered || outgoing.route.kind !== 'forward') return 'answered';
  return outgoing.exchange.upgrade === undefined ? 'forwarded' : 'tunnelled';
}

/** Shorter ones are no tokens, and would make holes everywhere. */
const SHORTEST_TOKEN = 8;

/** Removes the credential, and everything that looks like one, from a text. */
function withoutSecrets(token = ''): (text: string) => string {
  if (token.length < SHORTEST_TOKEN) return redact;
  return (text) => redact(text.replaceAll(token, '[redacted]'));
}

/** The connection of the client that requests the explanation. */
export interface ExplainingClient {
  readonly peerAddress: string | undefined;
  readonly signal: AbortSignal;
}

function describedExchange(
  { request, token }: ExplanationSpec,
  { peerAddress, signal }: ExplainingClient,
): Exchange {
  const { method, path, upgrade } = request;
  const headers = (request.headers ?? []).map(([name, value]) => [name, asSent(value)] as const);
  return {
    method,
    target: path,
    headers: token === undefined ? headers : [...headers, ['Authorization', `Bearer ${token}`]],
    httpVersion: '1.1',
    peerAddress,
    body: Readable.from([]),
    bytesReceived: 0,
    response: NO_RESPONSE,
    signal,
    ...(upgrade !== undefined && {
      upgrade: { protocol: upgrade.toLowerCase(), socket: new PassThrough(), head: Buffer.alloc(0) },
    }),
  };
}

/** Converts a text of the description to the form in which Node delivers header values. */
function asSent(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

function unused(): never {
  throw new Error('a request that is only explained cannot be answered');
}

const NO_RESPONSE: ResponseWriter = {
  headersSent: false,
  closed: false,
  bytesSent: 0,
  writeHead: unused,
  write: unused,
  onDrain: unused,
  end: unused,
  destroy: unused,
};

/**
 * Says what would become of a request: walks the very stages that serve requests, without the last, and remembers
 * what each decided. Nothing is sent on, and nothing is made for the person as when they come themselves; what the
 * stages ask (Keystone, an issuer, an access review) they ask here too, and it counts against the tenant's limit as any
 * request does.
 */
import type { Explanation, ExplanationRequest } from '../api/stonegate-v1alpha1.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import { redact } from '../lib/redact.ts';
import { askRBAC } from './explain-access.ts';
import { deliveryWords, rewriteWords, sentWords } from './explain-delivery.ts';
import { type Asker, describedExchange } from './explain-exchange.ts';
import { factsOf, sentOf } from './explain-facts.ts';
import { watchParts } from './explain-parts.ts';
import { Trail } from './explain-trail.ts';
import {
  actingWords,
  credentialWords,
  identityWords,
  requestWords,
  rolesWords,
  tenantWords,
} from './explain-words.ts';
import type { RequestRecord } from './ports.ts';
import { ServedRecord } from './record.ts';
import type { Outgoing, Received } from './request-state.ts';
import {
  actAsRequested,
  admit,
  authenticateRequest,
  authorizeRequest,
  identify,
  impersonateRequest,
  receive,
  resolveTenant,
  rewrite,
  type Stages,
} from './stages.ts';

export interface ExplainOptions {
  readonly stages: Stages;
  /** Asks the API server's RBAC, which has the last word. */
  readonly reviewer: AccessReviewer;
}

export type Explain = (spec: ExplanationRequest['spec'], asker: Asker) => Promise<Explanation>;

export function createExplain({ stages, reviewer }: ExplainOptions): Explain {
  return async (spec, asker) => {
    const told = withoutSecrets(spec.token);
    const trail = new Trail(told);
    const received = receive(describedExchange(spec, asker), stages);
    const record = new ServedRecord(received);
    const outgoing = await walk(received, record, watchParts(stages, trail), trail);
    if (outgoing !== undefined) await askRBAC(outgoing, stages.mode, reviewer, trail);
    const { method, path, upgrade } = spec.request;
    return {
      kind: 'Explanation',
      apiVersion: 'stonegate.dev/v1alpha1',
      metadata: { creationTimestamp: null },
      spec: { request: { method, path: told(path), ...(upgrade !== undefined && { upgrade }) } },
      status: {
        outcome: outcomeOf(outgoing),
        ...(trail.refusal && { refusal: trail.refusal }),
        stages: trail.stages,
        credential: told(credentialWords(received.exchange.headers)),
        ...factsOf(record, told),
        ...(outgoing && sentOf(outgoing, told)),
      },
    };
  };
}

/** @returns undefined where a stage refuses, which the trail remembers */
async function walk(
  received: Received,
  record: RequestRecord,
  stages: Stages,
  trail: Trail,
): Promise<Outgoing | undefined> {
  try {
    const identified = await trail.stage(
      'parseRequestInfo',
      () => identify(received, record, stages),
      ({ info }) => requestWords(info),
    );
    const authenticated = await trail.stage(
      'authenticate',
      () => authenticateRequest(identified, record, stages),
      ({ identity }) => identityWords(identity),
    );
    const scoped = await trail.stage(
      'resolveTenant',
      () => resolveTenant(authenticated, record, stages),
      ({ identity, tenant, user }) =>
        `${tenantWords(identity, tenant, user.username)}${rolesWords(identity)}`,
    );
    const acting = await trail.stage('actAs', () => actAsRequested(scoped, record, stages), actingWords);
    const authorized = await trail.stage(
      'authorize',
      () => authorizeRequest(acting, stages),
      () => 'no authorizer objects',
    );
    await trail.stage(
      'admit',
      () => admit(authorized, stages),
      () => 'the form of the request is fine',
    );
    await trail.stage(
      'limit',
      () => stages.limitTenant(authorized.tenant),
      () => "within the tenant's limit, if it has one",
    );
    const routed = await trail.stage(
      'rewrite',
      () => rewrite(authorized, stages),
      ({ route, info }) => rewriteWords(route, info.rawPath),
    );
    const outgoing = await trail.stage('impersonate', () => impersonateRequest(routed, stages), sentWords);
    trail.note({ name: 'deliver', decision: 'passed', reason: deliveryWords(outgoing) });
    return outgoing;
  } catch (error) {
    if (trail.refusal === undefined) throw error;
    return undefined;
  }
}

function outcomeOf(outgoing: Outgoing | undefined): Explanation['status']['outcome'] {
  if (outgoing === undefined) return 'refused';
  if (outgoing.route.kind !== 'forward') return 'answered';
  return outgoing.exchange.upgrade === undefined ? 'forwarded' : 'tunnelled';
}

/** Shorter ones are no tokens, and would make holes everywhere. */
const SHORTEST_TOKEN = 8;

/** Takes the credential out of a text, and whatever else looks like one. */
function withoutSecrets(token = ''): (text: string) => string {
  if (token.length < SHORTEST_TOKEN) return redact;
  return (text) => redact(text.replaceAll(token, '[redacted]'));
}

/**
 * Records for an explanation how each stage ended, what each authenticator and authorizer said, and
 * whether the API server would allow the request. Text from outside passes through `redactSecrets`, so that
 * no credential is shown.
 */

import { StatusError } from '../../errors/status-error.ts';
import { toStatus } from '../../errors/to-status.ts';
import {
  type AccessAttributes,
  type AccessReviewer,
  resourceAttributesOf,
  reviewOf,
} from '../../kubernetes/access-reviewer.ts';
import { actingTenant, reviewPlace, reviewSubject } from '../../proxy/acting-tenant.ts';
import type { ReasonOf } from '../../proxy/rbac-reasons.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { STAGES } from './explain-schemas.ts';
import type { ExplainedPart, ExplainedStage, Refusal, StageName } from './stonegate-v1alpha1.ts';

/** How far a chain of causes is followed. */
const MAX_CAUSES = 5;

export class Trail {
  readonly #redactSecrets: (text: string) => string;
  readonly #stages: ExplainedStage[] = [];
  #parts: ExplainedPart[] = [];
  #refusal: Refusal | undefined;

  /** @param redactSecrets removes the credential from a text */
  constructor(redactSecrets: (text: string) => string) {
    this.#redactSecrets = redactSecrets;
  }

  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  /** Every stage, those that were not reached too. */
  get stages(): readonly ExplainedStage[] {
    const reached = new Set(this.#stages.map(({ name }) => name));
    const rest = STAGES.filter((name) => !reached.has(name));
    return [...this.#stages, ...rest.map((name) => ({ name, decision: 'notReached', reason: '' }) as const)];
  }

  /**
   * Runs one stage and records how it ended.
   *
   * @param reason why it passed, of what it made
   * @throws whatever `run` throws
   */
  async stage<T>(name: StageName, run: () => T | Promise<T>, reason: (made: T) => string): Promise<T> {
    try {
      const made = await run();
      this.note({ name, decision: 'passed', reason: reason(made) });
      return made;
    } catch (error) {
      this.#refusal = this.#describeRefusal(name, error);
      const { message, cause } = this.#refusal;
      const why = cause === undefined || cause === message ? message : `${message} (${cause})`;
      this.note({ name, decision: 'refused', reason: why });
      throw error;
    }
  }

  note(stage: ExplainedStage): void {
    const parts = this.#parts;
    this.#parts = [];
    const reason = this.#redactSecrets(stage.reason);
    this.#stages.push({ ...stage, reason, ...(parts.length > 0 && { parts }) });
  }

  /** Within the stage under way. */
  part(part: ExplainedPart): void {
    this.#parts.push({ ...part, reason: this.#redactSecrets(part.reason) });
  }

  /** The causes of an error, for the operator; the client gets only its message. */
  causeOf(error: unknown): string {
    const texts: string[] = [];
    let current = error instanceof StatusError ? error.cause : error;
    while (current !== undefined && current !== null && texts.length < MAX_CAUSES) {
      texts.push(current instanceof Error ? current.message : String(current));
      current = current instanceof Error ? current.cause : undefined;
    }
    return this.#redactSecrets(texts.filter((text) => text !== '').join(': '));
  }

  #describeRefusal(stage: StageName, error: unknown): Refusal {
    const code = error instanceof StatusError ? error.code : 'InternalError';
    const { status } = toStatus(error, '');
    const cause = this.causeOf(error);
    const message = this.#redactSecrets(status.message);
    return { stage, code, httpStatus: status.code, message, ...(cause !== '' && { cause }) };
  }
}

/** Records whether the API server's RBAC allows the request, or that it cannot be asked. */
export async function askRBAC(
  outgoing: Outgoing,
  mode: TenancyMode,
  reviewer: AccessReviewer,
  trail: Trail,
  reasonOf?: ReasonOf,
): Promise<void> {
  if (outgoing.route.kind !== 'forward') return;
  const { exchange } = outgoing;
  const subject = reviewSubject(outgoing, mode.reviewTenant);
  const note = (decision: 'passed' | 'refused' | 'unknown', reason: string) =>
    trail.note({ name: 'accessReview', decision, reason });
  try {
    const reviewed = await reviewOf(reviewer, subject, questionOf(outgoing, mode), exchange.signal);
    const { allowed, denied = false, reason = '', evaluationError = '', unknownFields } = reviewed;
    const why = [reason, evaluationError].filter((text) => text !== '').join('; ');
    const isAllowed = allowed && !denied;
    const path = reasonOf?.(outgoing, isAllowed);
    const more = path === undefined ? '' : `; ${path}`;
    if (unknownFields !== undefined)
      note('unknown', `the API server answers more than yes or no: ${unknownFields.join(', ')}`);
    else if (isAllowed) note('passed', `the API server allows it${why === '' ? '' : `: ${why}`}${more}`);
    else note('refused', `the API server will answer 403: ${why === '' ? 'no role allows it' : why}${more}`);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    note('unknown', `the API server cannot be asked: ${trail.causeOf(error) || error.message}`);
  }
}

function questionOf(outgoing: Outgoing, mode: TenancyMode): AccessAttributes {
  const { info } = outgoing;
  if (!info.isResourceRequest) return { nonResourceAttributes: { path: info.rawPath, verb: info.verb } };
  const attributes = { group: info.apiGroup, resource: info.resource };
  const place = reviewPlace(mode, actingTenant(outgoing), attributes, info.tenant || undefined);
  return { resourceAttributes: resourceAttributesOf(info, place) };
}

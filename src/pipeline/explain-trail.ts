/**
 * What an explanation remembers of the way: how each stage ended, and what was asked within it. Everything a backend
 * or a stranger may have written passes through `told` before it is remembered, so that no credential gets out.
 */
import {
  type ExplainedPart,
  type ExplainedStage,
  type Refusal,
  STAGES,
  type StageName,
} from '../api/stonegate-v1alpha1.ts';
import { StatusError } from '../errors/status-error.ts';
import { toStatus } from '../errors/to-status.ts';

/** How far a chain of causes is followed. */
const MAX_CAUSES = 5;

export class Trail {
  readonly #told: (text: string) => string;
  readonly #stages: ExplainedStage[] = [];
  #parts: ExplainedPart[] = [];
  #refusal: Refusal | undefined;

  /** @param told takes the credential out of a text */
  constructor(told: (text: string) => string) {
    this.#told = told;
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
   * Runs one stage and remembers how it ended.
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
      this.#refusal = this.#refusalOf(name, error);
      const { message, cause } = this.#refusal;
      const why = cause === undefined || cause === message ? message : `${message} (${cause})`;
      this.note({ name, decision: 'refused', reason: why });
      throw error;
    }
  }

  note(stage: ExplainedStage): void {
    const parts = this.#parts;
    this.#parts = [];
    const reason = this.#told(stage.reason);
    this.#stages.push({ ...stage, reason, ...(parts.length > 0 && { parts }) });
  }

  /** Within the stage under way. */
  part(part: ExplainedPart): void {
    this.#parts.push({ ...part, reason: this.#told(part.reason) });
  }

  /** What the operator may know of an error: its causes rather than the word that the client is told. */
  causeOf(error: unknown): string {
    const texts: string[] = [];
    let current = error instanceof StatusError ? error.cause : error;
    while (current !== undefined && current !== null && texts.length < MAX_CAUSES) {
      texts.push(current instanceof Error ? current.message : String(current));
      current = current instanceof Error ? current.cause : undefined;
    }
    return this.#told(texts.filter((text) => text !== '').join(': '));
  }

  #refusalOf(stage: StageName, error: unknown): Refusal {
    const code = error instanceof StatusError ? error.code : 'InternalError';
    const { status } = toStatus(error, '');
    const cause = this.causeOf(error);
    const message = this.#told(status.message);
    return { stage, code, httpStatus: status.code, message, ...(cause !== '' && { cause }) };
  }
}

/**
 * A caller that records its response.
 */
import type { HeaderField } from '../../../src/lib/header-list.ts';
import type { Arrived } from '../../../src/upstream/arrived.ts';
import type { Errand } from '../../../src/upstream/errand.ts';
import type { AnswerHandler } from '../../../src/upstream/pooled-connection.ts';

export type Told = keyof AnswerHandler;

export class Recorder implements AnswerHandler {
  readonly told: Told[] = [];
  status: number | undefined;
  fields: readonly HeaderField[] = [];
  /** In latin1. */
  content = '';
  error: Error | undefined;
  /** What else is done when something is told. */
  on: (told: Told) => void = () => undefined;
  /** For a test that controls it. */
  errand: Errand | undefined;
  readonly #ended = Promise.withResolvers<void>();

  /** Done with the first end of whichever kind. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** How many ends were told. */
  get ends(): number {
    return this.told.filter((told) => told === 'onEnd' || told === 'onFailure').length;
  }

  onSent(): void {
    this.#tell('onSent');
  }

  onAnswering(): void {
    this.#tell('onAnswering');
  }

  onHead(status: number, fields: HeaderField[]): void {
    this.status = status;
    this.fields = fields;
    this.#tell('onHead');
  }

  onData(piece: Arrived): void {
    this.content += piece.copy().toString('latin1');
    this.#tell('onData');
  }

  onEnd(): void {
    this.#ended.resolve();
    this.#tell('onEnd');
  }

  onFailure(error: Error): void {
    this.error = error;
    this.#ended.resolve();
    this.#tell('onFailure');
  }

  #tell(what: Told): void {
    this.told.push(what);
    this.on(what);
  }
}

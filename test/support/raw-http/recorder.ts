/**
 * Somebody who wants an answer and writes down what is told.
 */
import type { HeaderField } from '../../../src/lib/header-list.ts';
import type { Arrived } from '../../../src/http1/borrowed-chunk.ts';
import type { Errand } from '../../../src/http1/pending-request.ts';
import type { AnswerHandler } from '../../../src/http1/connection.ts';

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
  /** For whoever has to steer it. */
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

/**
 * How the primary asks its workers over the channel that `node:cluster` opens: a question with a number, an answer
 * with the same. A worker that is stuck does not answer, which is an answer too.
 */
import type { Clock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import type { Readiness } from './health.ts';

export type Question = 'readiness' | 'metrics';

/** One end of the channel: a `Worker` of the primary, or the worker's `process`. */
export interface ChannelEnd {
  on(event: 'message', listener: (message: unknown) => void): unknown;
  off(event: 'message', listener: (message: unknown) => void): unknown;
  send?(message: object): unknown;
}

export interface WorkerAnswers {
  readonly readiness: () => readonly Readiness[];
  /** Counts and gauges in the form that the primary's `aggregate` takes. */
  readonly metrics: () => Promise<unknown>;
}

let lastQuestion = 0;

/**
 * The primary's side.
 *
 * @param patience milliseconds
 * @returns undefined where the worker did not answer in time, or could not
 */
export function ask(
  worker: ChannelEnd,
  question: Question,
  clock: Clock,
  patience: number,
): Promise<unknown> {
  lastQuestion += 1;
  const id = lastQuestion;
  return new Promise((resolve) => {
    const settle = (answer: unknown) => {
      worker.off('message', listener);
      timer.cancel();
      resolve(answer);
    };
    const listener = (message: unknown) => {
      if (isJSONObject(message) && message.stonegateAnswer === id) settle(message.answer);
    };
    const timer = clock.after(patience, () => settle(undefined));
    worker.on('message', listener);
    worker.send?.({ stonegateQuestion: id, question });
  });
}

/** The worker's side: answers as long as the process lives. */
export function answerPrimary(primary: ChannelEnd, answers: WorkerAnswers, logger: Logger): void {
  primary.on('message', (message) => {
    if (!isJSONObject(message) || typeof message.stonegateQuestion !== 'number') return;
    const id = message.stonegateQuestion;
    answerTo(message.question, answers).then(
      (answer) => primary.send?.({ stonegateAnswer: id, answer }),
      (error: unknown) => {
        logger.error({ error }, 'answering the primary failed');
        primary.send?.({ stonegateAnswer: id });
      },
    );
  });
}

async function answerTo(question: unknown, { readiness, metrics }: WorkerAnswers): Promise<unknown> {
  return question === 'readiness' ? readiness() : metrics();
}

/** What came over the channel, as readiness; anything else counts as no answer. */
export function isReadinessList(value: unknown): value is Readiness[] {
  return Array.isArray(value) && value.every((each) => isJSONObject(each) && typeof each.name === 'string');
}

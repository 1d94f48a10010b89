/**
 * The event of a watch after which a client lists again.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses
 */
import { JSON_TYPE } from '../../api/meta-v1.ts';
import type { StreamedResponse } from './response-stream.ts';

const status = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'too old resource version: what you may see has changed, list again',
  reason: 'Expired',
  code: 410,
};

/** One line, with its line feed. */
export const EXPIRED_EVENT = `${JSON.stringify({ type: 'ERROR', object: status })}\n`;

/** A watch that consists of it. */
export const EXPIRED_WATCH: StreamedResponse = {
  status: 200,
  headers: [
    ['Content-Type', JSON_TYPE],
    ['Cache-Control', 'no-cache, private'],
  ],
  start(stream) {
    stream.write(EXPIRED_EVENT);
    stream.end();
    return () => {};
  },
};

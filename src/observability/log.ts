/**
 * The program's own log: pino's JSON lines on standard error, so that standard output is free for the audit log.
 * Fields that could hold a secret are cut out by name, whatever they are given.
 */
import { pino } from 'pino';
import type { LogFields, Logger } from '../lib/logger.ts';
import { asciiJSON, foreignText, MAX_TEXT } from '../lib/redact.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** In characters. */
const MAX_STACK = 4 * MAX_TEXT;
const SECRET_FIELDS = ['authorization', 'token', 'password', 'secret', 'cookie', 'headers'];

/**
 * @param destination a file descriptor's number, or anything with `write`; standard error by default
 */
export function createLogger(
  level: LogLevel,
  destination: { write(line: string): void } = pino.destination({ dest: 2, sync: true }),
): Logger & { setLevel(level: LogLevel): void } {
  const log = pino(
    {
      level,
      base: { pid: process.pid },
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' },
    },
    { write: (line: string) => destination.write(`${asciiJSON(line.trimEnd())}\n`) },
  );
  return {
    debug: (fields, message) => log.debug(printable(fields), message),
    info: (fields, message) => log.info(printable(fields), message),
    warn: (fields, message) => log.warn(printable(fields), message),
    error: (fields, message) => log.error(printable(fields), message),
    setLevel(next) {
      log.level = next;
    },
  };
}

function printable(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, printableValue(value)]));
}

function printableValue(value: unknown): unknown {
  if (value instanceof Error) return describeError(value);
  return typeof value === 'string' ? foreignText(value) : value;
}

/** An error with its chain of causes, as text: an error object may carry a whole request. */
function describeError(error: Error): string {
  const chain = [foreignText(error.stack ?? error.message, MAX_STACK)];
  let cause: unknown = error.cause;
  while (cause !== undefined && chain.length < 5) {
    chain.push(foreignText(cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return chain.join('\ncaused by: ');
}

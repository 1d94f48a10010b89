/**
 * The log of the process: pino's JSON lines on standard error; standard output is for the audit log. Fields
 * that could hold a secret are redacted by name.
 */
import { pino } from 'pino';
import { StatusError } from '../errors/status-error.ts';
import type { LogFields, Logger } from '../lib/logger.ts';
import { asciiJSON, foreignText, MAX_TEXT } from '../lib/untrusted-text.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Characters of the longest stack that is logged. */
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

/**
 * An error and its causes as text; the object itself may reference a whole request. An expected error, such
 * as an unavailable Keystone, is one line; others have a stack.
 */
function describeError(error: Error): string {
  const expected = error instanceof StatusError && error.code !== 'InvariantBroken';
  const chain = [foreignText(expected ? error.message : (error.stack ?? error.message), MAX_STACK)];
  let cause: unknown = error.cause;
  while (cause !== undefined && chain.length < 5) {
    chain.push(foreignText(describeCause(cause)));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return chain.join(expected ? ': ' : '\ncaused by: ');
}

/** If a host has several addresses, Node's message is empty and each address has its own error. */
function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause instanceof AggregateError && cause.message === '')
    return cause.errors.map(describeCause).join(', ');
  return cause.name === 'Error' ? cause.message : `${cause.name}: ${cause.message}`;
}

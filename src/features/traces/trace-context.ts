/**
 * The context that a request has in a trace, and whether it is sampled. W3C Trace Context,
 * https://www.w3.org/TR/trace-context/; only what a trusted proxy has sent is read.
 */
import { type HeaderField, type HeaderList, headerValues, isNamed } from '../../lib/header-list.ts';
import type { Random } from '../../lib/random.ts';

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceID: string;
  /** The span of the caller, 16 hexadecimal digits. */
  readonly parentID?: string;
  readonly isSampled: boolean;
  /** What other systems have added to the trace; it is only passed on. */
  readonly state?: string;
}

/** Later versions may have more fields at the end. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Longer ones need not be passed on (§3.3.1.5). */
const MAX_STATE = 512;

/** @returns undefined if there is not exactly one valid `traceparent`; then `tracestate` does not count */
export function readTraceContext(headers: HeaderList): TraceContext | undefined {
  const [parent, another] = headerValues(headers, 'traceparent');
  if (parent === undefined || another !== undefined) return undefined;
  const [, version, traceID, parentID, flags = '', rest] = TRACEPARENT.exec(parent) ?? [];
  if (traceID === undefined || parentID === undefined || (version === '00' && rest !== undefined))
    return undefined;
  const state = headerValues(headers, 'tracestate').join(',');
  return {
    ...{ traceID, parentID, isSampled: (Number.parseInt(flags, 16) & 1) === 1 },
    ...(state !== '' && state.length <= MAX_STATE && { state }),
  };
}

/** Begins a trace. Its ID decides, so that other systems with the same ratio decide alike. */
export function newTraceContext(random: Random, ratio: number): TraceContext {
  const traceID = random.bytes(16).toString('hex');
  return { traceID, isSampled: Number.parseInt(traceID.slice(-13), 16) < ratio * 2 ** 52 };
}

/** @param spanID of the span that causes the request */
export function withTraceContext(headers: HeaderList, context: TraceContext, spanID: string): HeaderList {
  const { traceID, isSampled, state } = context;
  const others = headers.filter(([name]) => !isNamed(name, 'traceparent') && !isNamed(name, 'tracestate'));
  const added: HeaderField[] = [['traceparent', `00-${traceID}-${spanID}-${isSampled ? '01' : '00'}`]];
  if (state !== undefined) added.push(['tracestate', state]);
  return [...others, ...added];
}

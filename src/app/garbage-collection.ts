/**
 * Sets when V8 collects garbage in a serving process, however the process was started. V8 accepts the size of
 * the young generation on its command line only: it is in the Dockerfile and in `npm run stonegate`.
 */
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';

/** The first V8 known to have the flags: that of Node 24. Another one would print a warning. */
const SINCE = 13;

/**
 * Percent by which the old generation may grow before it is collected again. By default it grows to four
 * times what was in use under a load over HTTP/2, and V8 does not return the emptied pages to the system.
 */
const GROWTH = 70;

/** Called once, before the listeners open. */
export function limitGarbage(): void {
  if (Number.parseInt(process.versions.v8, 10) < SINCE) return;
  // Bodies are in buffers outside of the heap, and each 32 MB of them would start a full collection. Counted
  // together with the heap, they start one only if there is something to collect.
  setFlagsFromString('--external-memory-accounted-in-global-limit');
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
}

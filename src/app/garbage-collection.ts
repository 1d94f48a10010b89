/**
 * Sets how the garbage collector of a serving process counts memory. Request and response bodies are in
 * buffers outside of V8's heap; by default each 32 MB of them starts a full collection of the heap. Counted
 * together with the heap, they start one only if there is something to collect.
 */
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';

/** The first V8 known to have the flag: that of Node 24. Another one would print a warning. */
const SINCE = 13;

/** Called once, before the listeners open. */
export function countBuffersWithHeap(): void {
  if (Number.parseInt(process.versions.v8, 10) >= SINCE)
    setFlagsFromString('--external-memory-accounted-in-global-limit');
}

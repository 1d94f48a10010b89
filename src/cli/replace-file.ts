/**
 * Replaces a file that holds secrets: another process reads the old text or the new one, and only the owner
 * may read either.
 */
import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** @param text a function is called once the file is known to be writable */
export async function replaceFile(target: string, text: string | (() => Promise<string>)): Promise<void> {
  const next = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  try {
    const handle = await open(next, 'wx', 0o600);
    try {
      await handle.writeFile(typeof text === 'string' ? text : await text());
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(next, target);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

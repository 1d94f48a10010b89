/** A process with little memory starts even if tenants have written more roles than fit into it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';

const PROGRAM = 'test/support/programs/flooded-index.ts';
const run = promisify(execFile);

/** @param heap megabytes @returns the state of the index after its start */
async function start(heap: number, roles: number, bytes: number, maxBytes: number): Promise<unknown> {
  const options = [`--max-old-space-size=${heap}`, '--disable-warning=ExperimentalWarning', PROGRAM];
  const { stdout } = await run(process.execPath, [...options, ...[roles, bytes, maxBytes].map(String)]);
  return JSON.parse(stdout);
}

t.test('roles of 1.2 MB are left out one by one', async (t) => {
  t.strictSame(await start(192, 66, 1_200_000, 32 * 1024 * 1024), {
    state: 'current',
    tooLarge: 66,
    fits: true,
  });
});

t.test('very many smaller roles turn the index off', async (t) => {
  t.strictSame(await start(96, 600, 60_000, 16 * 1024 * 1024), { state: 'off', tooLarge: 0, fits: true });
});

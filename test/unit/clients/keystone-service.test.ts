import t from 'tap';
import { createLivenessCheck } from '../../../src/clients/keystone-service.ts';

function createProbe() {
  const pending: { resolve: (alive: boolean) => void; reject: (error: Error) => void }[] = [];
  const alive = createLivenessCheck(
    () => new Promise<boolean>((resolve, reject) => pending.push({ resolve, reject })),
  );
  return { alive, pending };
}

t.test('a call during a running check shares the next check, not the running one', async (t) => {
  const { alive, pending } = createProbe();
  const first = alive('token');
  const second = alive('token');
  const third = alive('token');
  t.equal(pending.length, 1);
  pending[0]?.resolve(true);
  t.equal(await first, true);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(pending.length, 2);
  pending[1]?.resolve(false);
  t.strictSame(await Promise.all([second, third]), [false, false]);
});

t.test('a failed check fails only the calls that waited for it', async (t) => {
  const { alive, pending } = createProbe();
  const first = alive('token');
  const second = alive('token');
  pending[0]?.reject(new Error('down'));
  await t.rejects(first, { message: 'down' });
  await new Promise((resolve) => setImmediate(resolve));
  pending[1]?.resolve(true);
  t.equal(await second, true);
});

t.test('two tokens have two checks', async (t) => {
  const { alive, pending } = createProbe();
  const both = Promise.all([alive('one'), alive('other')]);
  t.equal(pending.length, 2);
  pending[0]?.resolve(true);
  pending[1]?.resolve(false);
  t.strictSame(await both, [true, false]);
});

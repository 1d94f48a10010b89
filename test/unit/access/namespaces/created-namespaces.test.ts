/** A user who has created a namespace does not see a list from before it. */
import t from 'tap';
import { CreatedNamespaces } from '../../../../src/access/namespaces/created-namespaces.ts';
import { unsyncedAccessIndex } from '../../../support/access-index.ts';

const { signal } = new AbortController();

/** Records what lists wait for; each waits until `reach` is called. */
function siteOf() {
  const waits: { revision: number; timeout: number; end: (isReached: boolean) => void }[] = [];
  const created = new CreatedNamespaces({
    waitFor: (revision, timeout) =>
      new Promise((resolve) => {
        waits.push({ revision, timeout, end: resolve });
      }),
  });
  /** How often the list has waited, and for which revision. */
  const waitOf = async (tenant: string, username: string): Promise<readonly number[]> => {
    const before = waits.length;
    const list = created.known(tenant, username, signal);
    const begun = waits.slice(before);
    for (const { end } of begun) end(true);
    await list;
    return begun.map(({ revision }) => revision);
  };
  return { created, waits, waitOf };
}

t.test('the next list of the user waits, and no later one', async (t) => {
  const { created, waitOf } = siteOf();
  created.created('', 'alice', 7);
  t.same(await waitOf('', 'bob'), [], 'no other user');
  t.same(await waitOf('acme', 'alice'), [], 'nor one of the same name in another tenant');
  t.same(await waitOf('', 'alice'), [7]);
  t.same(await waitOf('', 'alice'), []);
});

t.test('a list waits for the last of several namespaces, in whichever order they are reported', async (t) => {
  const { created, waitOf } = siteOf();
  for (const revision of [7, 9, 8]) created.created('', 'alice', revision);
  t.same(await waitOf('', 'alice'), [9]);
});

t.test('lists at the same time wait together', async (t) => {
  const { created, waits } = siteOf();
  created.created('', 'alice', 7);
  const lists = [created.known('', 'alice', signal), created.known('', 'alice', signal)];
  t.same(
    waits.map(({ revision }) => revision),
    [7, 7],
  );
  for (const { end } of waits) end(true);
  await Promise.all(lists);
});

t.test('a namespace that is created while a list waits is waited for by the next', async (t) => {
  const { created, waits, waitOf } = siteOf();
  created.created('', 'alice', 7);
  const list = created.known('', 'alice', signal);
  created.created('', 'alice', 8);
  for (const { end } of waits) end(true);
  await list;
  t.same(await waitOf('', 'alice'), [8]);
});

t.test('a list whose client is gone leaves the wait to the next', async (t) => {
  const { created, waits, waitOf } = siteOf();
  created.created('', 'alice', 7);
  const client = new AbortController();
  const list = created.known('', 'alice', client.signal);
  client.abort();
  for (const { end } of waits) end(false);
  await list;
  t.same(await waitOf('', 'alice'), [7]);
});

t.test('a list waits no longer than three seconds, if the index makes no progress', async (t) => {
  const { access, clock } = unsyncedAccessIndex();
  const created = new CreatedNamespaces(access);
  created.created('', 'alice', 7);
  let isOver = false;
  const list = created.known('', 'alice', signal).then(() => {
    isOver = true;
  });
  clock.advance(2_999);
  await Promise.resolve();
  t.notOk(isOver);
  clock.advance(1);
  await list;
  t.ok(isOver);
});

t.test('the wait is known of a thousand users: those who created a namespace last', async (t) => {
  const { created, waitOf } = siteOf();
  created.created('', 'first', 1);
  created.created('', 'second', 2);
  for (let at = 0; at < 998; at += 1) created.created('', `user-${at}`, at + 3);
  created.created('', 'first', 2_000);
  created.created('', 'another', 2_001);
  t.same(await waitOf('', 'second'), []);
  t.same(await waitOf('', 'first'), [2_000]);
  t.same(await waitOf('', 'another'), [2_001]);
});

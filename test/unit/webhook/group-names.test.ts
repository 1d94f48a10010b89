import t from 'tap';
import { createGroupNames } from '../../../src/webhook/group-names.ts';
import { keystoneIdentity } from '../../support/identities.ts';

t.test('groups are asked for once for each answer of Keystone’s', async (t) => {
  const asked: string[] = [];
  const names = createGroupNames(async (userID) => {
    asked.push(userID);
    return ['developers'];
  });
  const alice = keystoneIdentity('alice');
  t.same(await Promise.all([names.of(alice, 't'), names.of(alice, 't')]), [['developers'], ['developers']]);
  await names.of(keystoneIdentity('alice'), 't');
  t.equal(asked.length, 2);
});

t.test('a failure is not remembered', async (t) => {
  let down = true;
  const names = createGroupNames(async () => {
    if (down) throw new Error('down');
    return [];
  });
  const alice = keystoneIdentity('alice');
  await t.rejects(names.of(alice, 't'));
  down = false;
  t.same(await names.of(alice, 't'), []);
});

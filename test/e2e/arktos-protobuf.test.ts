/**
 * A kubectl that prefers protobuf, through Stonegate to an Arktos server, whose protobuf it would misread.
 */
import t from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { creates, fails, startForKubectl, succeeds } from '../support/kubectl-users.ts';

const newest = findKubectls().at(-1);

t.test(
  'the newest kubectl reads JSON, and gets an error if it sends protobuf',
  {
    skip: newest === undefined && NO_KUBECTL,
  },
  async (t) => {
    const { stonegate, as } = await startForKubectl(t);
    const alice = as(newest ?? '', stonegate.keystoneToken('alice'));
    t.match(await succeeds(t, alice, ['describe', 'pod', 'web']), /Image: +nginx/);
    const words = ['cm', 'typed', '--from-literal=a=b'];
    if (alice.minor >= 32)
      t.match(
        await fails(t, alice, ['create', ...words]),
        /unknown format - accepted media types include: application\/json/,
      );
    t.match(await creates(t, alice, words), 'configmap/typed created');
    t.match(await succeeds(t, alice, ['auth', 'can-i', 'get', 'pods']), 'yes');
  },
);

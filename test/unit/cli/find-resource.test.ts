import fc from 'fast-check';
import t from 'tap';
import { findResource } from '../../../src/cli/find-resource.ts';
import { DISCOVERY } from '../../support/core-discovery.ts';
import { eachRow } from '../../support/rows.ts';

const get = async (path: string) => DISCOVERY[path];

await eachRow(
  `
  pods | | pods | true
  po | | pods | true
  Pod | | pods | true
  no | | nodes | false
  events.events.k8s.io | events.k8s.io | events | true
  deploy | apps | deployments | true
  deployments.v1.apps | apps | deployments | true
  widget | example.com | widgets | false
  oldwidgets.v1.example.com | example.com | oldwidgets | true`,
  (word, apiGroup, resource, namespaced) =>
    t.test(`${word} is resolved as kubectl resolves it`, async (t) =>
      t.match(await findResource(word, get), { apiGroup, resource, namespaced: namespaced === 'true' }),
    ),
);

/** A resource of a version that is not preferred is found only if the word names the version. */
t.test('a word that discovery does not contain is returned unchanged', async (t) => {
  await eachRow(
    `
    gadgets | | gadgets
    pods.example.com | example.com | pods
    deployments.v9.apps | v9.apps | deployments
    oldwidgets | | oldwidgets`,
    async (word, apiGroup, resource) =>
      t.match(await findResource(word, get), { apiGroup, resource, namespaced: undefined }, word),
  );
});

t.test('a core resource needs one request; discovery of other groups is not read', async (t) => {
  const asked: string[] = [];
  await findResource('po', async (path) => {
    asked.push(path);
    return get(path);
  });
  t.same(asked, ['/api/v1']);
});

t.test('malformed discovery finds nothing and causes no error', () =>
  fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.string(), async (garbage, word) => {
      const { namespaced } = await findResource(`x${word}`, async () => garbage);
      return namespaced === undefined;
    }),
  ),
);

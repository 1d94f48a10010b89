/** A watch of access rules whose client reads now and then. */
import t from 'tap';
import { RulesCache } from '../../../../src/access/rules/rules-cache.ts';
import { createRulesDocuments } from '../../../../src/access/rules/rules-document.ts';
import { ResponseMemory } from '../../../../src/flowcontrol/response-memory.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { watchRules } from '../../../../src/pipeline/own-api/watch-access-rules.ts';
import { WatchLifetimes } from '../../../../src/pipeline/response/watch-lifetimes.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { readStream } from '../../../support/answer-stream.ts';
import { alice, fakePipeline } from '../../../support/fake-pipeline.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import { clusterRole, namespace, rbacUser, roleBinding, user } from '../../../support/rbac-objects.ts';

const LIST = [{ verbs: ['list'], apiGroups: [''], resources: ['pods'] }];
const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

t.test('however often a client falls behind, one further document is planned', async (t) => {
  const { access, clock, index } = accessIndexOf(namespace('a'), clusterRole('view', LIST));
  const cache = new RulesCache({ index, clock, namedSets: [] });
  const verifier = { sampleOne() {} };
  const documents = createRulesDocuments({
    access,
    cache,
    verifier,
    authorizers: ['Node', 'RBAC'],
    clock,
  });
  const subject = uniformSubject(rbacUser('alice'));
  const selection = { verb: 'list' };
  const { mode } = fakePipeline({ clock });
  const outgoing = outgoingOf(mode, alice, { target: '/apis/stonegate.dev/v1alpha1/selfaccessrules' });
  const { signal } = outgoing.exchange;
  const expiresAt = clock.now() + 10_000_000;
  const document = await documents.documentOf({ subject, selection, expiresAt, signal });
  let lookedUp = 0;
  const answer = watchRules(
    outgoing,
    { selection, bookmarks: false, timeoutSeconds: undefined, subject, document },
    {
      responseMemory: new ResponseMemory(),
      documents,
      clock,
      lifetimes: new WatchLifetimes({ clock, random: systemRandom, replaced: new AbortController().signal }),
      subjects: {
        subjectOf: async () => {
          lookedUp += 1;
          return subject;
        },
      },
    },
  );
  const client = readStream(answer);
  await turn();
  const planned = clock.pending;
  for (let at = 0; at < 10; at += 1) {
    client.pause();
    for (const name of ['x', 'y']) {
      index.put(roleBinding('a', `${name}${at}`, 'ClusterRole/view', [user('alice')]));
      clock.advance(1_000);
      await turn();
      client.pause();
    }
    client.resume();
    await turn();
  }
  t.ok(clock.pending <= planned, `${clock.pending} timers instead of ${planned}`);
  const before = lookedUp;
  clock.advance(60_000);
  await turn();
  t.equal(lookedUp - before, 1);
  client.leave();
  clock.advance(120_000);
  await turn();
  t.equal(lookedUp - before, 1, 'nothing goes on without the client');
});

/** How many evaluations of access rules run and wait, and what one does between its steps. */
import t from 'tap';
import { RulesCache } from '../../../../src/access/rules/rules-cache.ts';
import { RulesEvaluations } from '../../../../src/access/rules/rules-evaluations.ts';
import type { StoredObject } from '../../../../src/api/rbac-v1.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  clusterRole,
  namespace,
  nextRevision,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const VIEW = clusterRole('view', [{ verbs: ['list'], apiGroups: [''], resources: ['pods'] }]);
const { signal } = new AbortController();
/** Another document each. */
const selection = (at: number) => ({ verb: `verb${at}` });
const LIST = { verb: 'list' };

function site() {
  const objects: StoredObject[] = ['a', 'b'].flatMap((name) => [
    namespace(name),
    ...['alice', 'bob', 'carol'].map((who) => roleBinding(name, who, 'ClusterRole/view', [user(who)])),
  ]);
  const { index, clock } = accessIndexOf(VIEW, ...objects);
  const cache = new RulesCache({ index, clock, namedSets: [] });
  const turns: (() => void)[] = [];
  const evaluations = new RulesEvaluations({ cache, clock, nextTurn: (action) => turns.push(action) });
  const subjectOf = (name: string, home: string) => uniformSubject({ ...rbacUser(name), home });
  async function settle(isSettled: () => boolean): Promise<void> {
    await eventually(() => {
      turns.shift()?.();
      return isSettled();
    });
  }
  /** Runs all turns until the promise is fulfilled. */
  async function outcome<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const over = promise.finally(() => {
      isOver = true;
    });
    over.catch(() => {});
    await settle(() => isOver);
    return over;
  }
  return { index, clock, cache, turns, evaluations, subjectOf, settle, outcome };
}

t.test('another request of the user waits for the evaluation and shares it', async (t) => {
  const { evaluations, subjectOf, outcome } = site();
  const alice = subjectOf('alice', 'acme');
  const both = Promise.all([1, 2].map(() => evaluations.rulesOf(alice, LIST, signal)));
  const [one, other] = await outcome(both);
  t.equal(one?.compiled, other?.compiled);
  t.match(one?.compiled.rules.namespaces, [{ names: ['a', 'b'] }]);
  t.equal((await evaluations.rulesOf(alice, LIST, signal)).compiled, one?.compiled, 'at once');
});

t.test('a user with too many evaluations gets 429, and others of the tenant do not', async (t) => {
  const { evaluations, subjectOf, outcome } = site();
  const alice = subjectOf('alice', 'acme');
  const first = Array.from({ length: 9 }, (_, at) => evaluations.rulesOf(alice, selection(at), signal));
  await t.rejects(evaluations.rulesOf(alice, selection(9), signal), { code: 'TenantRateExceeded' });
  const bob = evaluations.rulesOf(subjectOf('bob', 'acme'), LIST, signal);
  t.equal((await outcome(Promise.all([...first, bob]))).length, 10);
});

t.test('a tenant with too many evaluations gets 429, whichever of its users wait', async (t) => {
  const { evaluations, subjectOf, outcome } = site();
  const evaluate = (at: number, home: string) =>
    evaluations.rulesOf(subjectOf(`u${at % 13}`, home), selection(at), signal);
  const large = Array.from({ length: 65 }, (_, at) => evaluate(at, 'large'));
  await t.rejects(evaluate(65, 'large'), { code: 'TenantRateExceeded' });
  await outcome(Promise.all([...large, evaluate(0, 'small')]));
  await outcome(evaluate(66, 'large'));
});

t.test('the evaluations of a tenant do not delay those of another', async (t) => {
  const { evaluations, subjectOf, settle, outcome } = site();
  const ended: string[] = [];
  const evaluate = async (name: string, home: string) => {
    await evaluations.rulesOf(subjectOf(name, home), LIST, signal);
    ended.push(home);
  };
  const large = Array.from({ length: 40 }, (_, at) => evaluate(`u${at}`, 'large'));
  const small = evaluate('alice', 'small');
  await settle(() => ended.includes('small'));
  t.ok(ended.length < 10, `${ended.length} ended before`);
  await outcome(Promise.all([...large, small]));
});

t.test('a client that leaves waits no longer', async (t) => {
  const { evaluations, subjectOf, outcome } = site();
  const alice = subjectOf('alice', 'acme');
  const first = evaluations.rulesOf(alice, selection(1), signal);
  const client = new AbortController();
  const second = evaluations.rulesOf(alice, selection(2), client.signal);
  client.abort();
  await t.rejects(second);
  await outcome(first);
  await outcome(evaluations.rulesOf(alice, selection(3), signal));
});

t.test('a change between two steps counts', async (t) => {
  const { index, turns, evaluations, subjectOf, outcome } = site();
  const evaluation = evaluations.rulesOf(subjectOf('alice', 'acme'), LIST, signal);
  await eventually(() => turns.length > 0);
  const known = index.objectsOf('').binding('a', 'alice');
  if (known === undefined) throw new Error('no binding');
  index.delete({ ...known, revision: nextRevision() });
  const { compiled, isChanging } = await outcome(evaluation);
  t.match(compiled.rules.namespaces, [{ names: ['b'] }]);
  t.equal(isChanging, false);
});

t.test('rights that change all the time end the evaluation, and the document is not cached', async (t) => {
  const { index, cache, turns, evaluations, subjectOf } = site();
  const alice = subjectOf('alice', 'acme');
  const own = role('a', 'own', [{ verbs: ['list'], apiGroups: [''], resources: ['services'] }]);
  index.put(roleBinding('a', 'own', 'Role/own', [user('alice')]));
  let result: Awaited<ReturnType<RulesEvaluations['rulesOf']>> | undefined;
  void evaluations.rulesOf(alice, LIST, signal).then((evaluated) => {
    result = evaluated;
  });
  let at = 0;
  await eventually(() => {
    at += 1;
    index.put({
      ...own,
      rules: [{ verbs: ['list'], apiGroups: [''], resources: [`kind${at}`] }],
      revision: nextRevision(),
    });
    turns.shift()?.();
    return result !== undefined;
  });
  t.equal(result?.isChanging, true);
  t.equal(cache.size, 0);
});

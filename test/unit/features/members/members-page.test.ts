import t from 'tap';
import type { Member } from '../../../../src/features/members/member-v1alpha1.ts';
import { headerOf, signedIn } from '../../../support/portal.ts';
import { PAGE_SOURCES, pageSources } from '../../../support/portal-pages.ts';

const { members } = PAGE_SOURCES;

function memberWith(role: string, from: Member['status']['from']): Member {
  return {
    metadata: { name: 'user-bob', namespace: 'shop', creationTimestamp: null },
    spec: { type: 'User', name: 'acme:bob', role },
    status: { owner: false, from },
  };
}

/** A signed-in browser at a portal with one member of each namespace. */
async function visit(changes: Partial<typeof members>) {
  const { portal, browser } = await signedIn({ ...PAGE_SOURCES, members: { ...members, ...changes } });
  return { portal, browser };
}

const showing = (member: Member) => visit({ list: async () => ({ result: [member], notes: [] }) });

t.test(
  'without a namespace the page is that of the user’s project, else of the first namespace',
  async (t) => {
    for (const [namespaces, shown] of [
      [['aaa', 'acme-web', 'shop'], 'acme-web'],
      [['aaa', 'shop'], 'aaa'],
    ] as const) {
      const { browser } = await visit({ namespaces: async () => namespaces });
      const text = await browser.text('/members');
      t.match(text, `<option value="${shown}" selected>`);
      t.match(text, '>user-0<');
      t.match(text, `<form method="post" action="/members?namespace=${shown}">`);
    }
    const none = await visit({ namespaces: async () => [] });
    t.match(await none.browser.text('/members'), 'You see no namespace yet.');
  },
);

t.test('of many namespaces none is preselected', async (t) => {
  const { browser } = await signedIn(pageSources({ namespaces: 5_000 }));
  t.equal(await browser.status('/members'), 200);
});

t.test('a role that the user may not see is said in words', async (t) => {
  const hidden = await showing(memberWith('another', []));
  const page = await hidden.browser.text('/members?namespace=shop');
  t.match(page, 'a role whose name you may not see');
  t.notMatch(page, 'another');
  const named = await showing(memberWith('another', [{ kind: 'RoleBinding', name: 'b', role: 'another' }]));
  t.match(await named.browser.text('/members?namespace=shop'), '<strong>another</strong>');
});

t.test('a generated name of a binding is folded, and one that a user has chosen is not', async (t) => {
  const generated = [`member:user-acme-bob-0123456789abcdef:edit`, `stonegate-${'0'.repeat(40)}`];
  const from = [...generated, 'owners'].map((name) => ({ kind: 'RoleBinding' as const, name, role: 'edit' }));
  const { browser } = await showing(memberWith('edit', from));
  const text = await browser.text('/members?namespace=shop');
  const folded = text.match(
    /<details class="inline"><summary>RoleBinding: edit<\/summary><code>.*?<\/code>/g,
  );
  t.equal(folded?.length, 2);
  t.match(text, 'RoleBinding <code>owners</code>: edit');
});

t.test('the page, its forms and its audit events have one query, however long the client’s is', async (t) => {
  const asked: string[] = [];
  const { portal, browser } = await visit({
    namespaces: async () => ['n'.repeat(253)],
    async list(_, namespace) {
      asked.push(namespace);
      return { result: [memberWith('read', [{ kind: 'RoleBinding', name: 'b', role: 'read' }])], notes: [] };
    },
    async add(_, namespace) {
      asked.push(namespace);
      return { result: memberWith('read', []), notes: [] };
    },
  });
  const path = `/members?namespace=${'n'.repeat(300)}&other=1`;
  const text = await browser.text(path);
  portal.observed.length = 0;
  const sent = await browser.post(path, {
    do: 'add',
    type: 'User',
    name: 'bob',
    role: 'read',
    token: browser.formToken,
  });
  const namespace = 'n'.repeat(253);
  t.equal(headerOf(sent, 'location'), `/members?namespace=${namespace}`);
  t.match(text, `<option value="${namespace}" selected>`);
  t.same(new Set(asked), new Set([namespace]));
  t.match(portal.observed, [{ info: { namespace } }]);
});

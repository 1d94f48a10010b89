/**
 * The search service of docs/reference/access-rules-search.md, with the code of that page, on a real
 * PostgreSQL: it shows exactly the rows that the user may list.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import fc from 'fast-check';
import type { Client } from 'pg';
import t from 'tap';
import { compileAccessRules as compile } from '../../src/features/access-rules/access-rules.ts';
import type { AccessRules } from '../../src/features/access-rules/access-rules-v1alpha1.ts';
import { subjectIn, uniformSubject } from '../../src/rbac/attributes.ts';
import { allows } from '../../src/rbac/decide.ts';
import { rule } from '../support/policy-rule.ts';
import { postgresMissing, startPostgres } from '../support/postgres/postgres-server.ts';
import { objectKinds, rbacObjects, subjects } from '../support/random-rbac.ts';
import { clusterRole, indexOf, rbacUser, roleBinding, user } from '../support/rbac-objects.ts';

const compileAccessRules = (...given: Parameters<typeof compile>) => compile(...given).rules;

const missing = postgresMissing();
const DOCUMENT = readFileSync(
  new URL('../../docs/reference/access-rules-search.md', import.meta.url),
  'utf8',
);

/** The code in this language in the document. */
function codeOf(language: string) {
  const found = DOCUMENT.match(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's'))?.[1];
  if (found === undefined) throw new Error(`the document has no ${language}`);
  return found;
}

interface Row {
  readonly api_group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

interface Known {
  readonly tag: string;
  readonly access: AccessRules & { readonly validUntil: string };
}

interface Service {
  rulesOf(stonegate: string, authorization: string, rules?: Known): Promise<Known>;
  search(database: Client, rules: { readonly access: object }, text: string): Promise<Row[]>;
}

function isService(module: object): module is Service {
  return 'rulesOf' in module && 'search' in module;
}

async function serviceOf() {
  const module: unknown = await import(`data:text/javascript,${encodeURIComponent(codeOf('js'))}`);
  if (typeof module === 'object' && module !== null && isService(module)) return module;
  throw new Error('the document has no such functions');
}

const VALID = { validUntil: new Date(Date.now() + 600_000).toISOString() };

t.test('a search service in PostgreSQL', { skip: missing ?? false }, async (t) => {
  const server = await startPostgres();
  t.teardown(() => server.remove());
  const database = await server.connect();
  t.teardown(() => database.end());
  await database.query(codeOf('sql'));
  const { search, rulesOf } = await serviceOf();
  const { apiGroups, resources, namespaces, names } = objectKinds;
  await database.query(
    'INSERT INTO kinds (api_group, resource) SELECT * FROM unnest($1::text[]) g, unnest($2::text[]) r',
    [apiGroups, resources],
  );
  await database.query(
    'INSERT INTO objects (kind, namespace, name) SELECT id, ns, n FROM kinds, unnest($1::text[]) ns, unnest($2::text[]) n',
    [namespaces, names],
  );
  const everyRow = await database.query<Row>(
    'SELECT api_group, resource, namespace, name FROM objects o JOIN kinds k ON k.id = o.kind',
  );
  const textOf = ({ namespace, name, resource, api_group }: Row) =>
    `${namespace}/${name}/${resource}.${api_group}`;

  await t.test('it shows exactly the rows that the RBAC index allows the user to list', async () => {
    await fc.assert(
      fc.asyncProperty(rbacObjects, subjects, async (objects, subject) => {
        const index = indexOf(...objects);
        const expected = everyRow.rows.filter(({ api_group, ...place }) =>
          allows(index, subjectIn(subject, place.namespace), {
            ...place,
            verb: 'list',
            apiGroup: api_group,
            subresource: '',
            tenant: '',
          }),
        );
        const access = { ...compileAccessRules(index, subject, { verb: 'list' }), ...VALID };
        const shown = await search(database, { access }, '');
        const [one, other] = [shown, expected].map((rows) => rows.map(textOf).sort().join(' '));
        if (one !== other) throw new Error(`${one} is not ${other}; rules: ${JSON.stringify(access)}`);
      }),
      { numRuns: 100 },
    );
  });

  const index = indexOf(
    clusterRole('view', [rule('list', 'pods')]),
    ...['a', 'team-7', 'team-900'].map((place) =>
      roleBinding(place, 'b', 'ClusterRole/view', [user('alice')]),
    ),
  );
  const rules = compileAccessRules(index, uniformSubject(rbacUser('alice')), { verb: 'list' });

  await t.test('rules that have expired, or have no expiry, show nothing', async (t) => {
    const past = { ...rules, validUntil: new Date(Date.now() - 1_000).toISOString() };
    t.not((await search(database, { access: { ...rules, ...VALID } }, 'x')).length, 0);
    t.same(await search(database, { access: past }, 'x'), []);
    t.same(await search(database, { access: rules }, 'x'), []);
  });

  await t.test('it finds rows by a database index, among those of very many namespaces', async (t) => {
    await database.query(
      `INSERT INTO objects (kind, namespace, name)
       SELECT k.id, 'team-' || n, 'pod-' || m FROM kinds k, generate_series(0, 1999) n, generate_series(1, 10) m
       WHERE k.resource = 'pods'`,
    );
    await database.query('ANALYZE');
    const { rows } = await database.query<{ 'QUERY PLAN': string }>(
      'EXPLAIN SELECT * FROM visible_objects($1)',
      [JSON.stringify({ ...rules, ...VALID })],
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    t.match(plan, /Index (?:Only )?Scan using objects_place|Bitmap Index Scan on objects_place/);
    t.notMatch(plan, /Seq Scan on objects/);
    const found = await search(database, { access: { ...rules, ...VALID } }, 'pod-10');
    t.same(
      found.map(({ namespace }) => namespace),
      ['team-7', 'team-900'],
    );
  });

  await t.test(
    'it reuses the rules after a 304, with their new expiry, and uses none after a failure',
    async (t) => {
      let status = 200;
      const expires = new Date(Date.now() + 600_000).toUTCString();
      const stonegate = createServer((request, response) => {
        const isKnown = request.headers['if-none-match'] === '"1"';
        response.writeHead(isKnown && status === 200 ? 304 : status, { etag: '"1"', expires });
        response.end(isKnown ? undefined : JSON.stringify({ status: { ...rules, ...VALID } }));
      });
      stonegate.listen(0, '127.0.0.1');
      t.teardown(() => stonegate.close());
      await new Promise((resolve) => stonegate.once('listening', resolve));
      const address = stonegate.address();
      const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
      const first = await rulesOf(url, 'Bearer x');
      const second = await rulesOf(url, 'Bearer x', first);
      t.strictSame(second, { tag: '"1"', access: { ...rules, validUntil: expires } });
      t.not((await search(database, second, 'x')).length, 0);
      status = 503;
      await t.rejects(rulesOf(url, 'Bearer x', first), /503/);
    },
  );
});

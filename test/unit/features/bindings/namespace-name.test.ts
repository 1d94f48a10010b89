import fc from 'fast-check';
import t from 'tap';
import { bindingsSchema } from '../../../../src/features/bindings/bindings-configuration.ts';
import { createProjectNamespace, namespaceOf } from '../../../../src/features/bindings/namespace-name.ts';

const project = { id: '3f', name: 'web', domainID: 'd1' };
const rules = (namespaceFormat: string, projects = {}) => ({ namespaceFormat, projects });

t.test('a namespace can be named by the id, the name and the domain id of its project', async (t) => {
  t.same(namespaceOf(project, rules('%n-%i-%d')), { namespace: 'web-3f-d1', configured: false });
});

t.test('the name of a project is never read as a placeholder', async (t) => {
  t.match(namespaceOf({ ...project, name: '%i' }, rules('%n')), { refused: /"%i"/ });
});

t.test('C237 a name that is not a DNS label is refused, never changed', async (t) => {
  for (const name of ['My Project_1', 'Web', '-web', 'web-', 'web.shop', 'wéb', 'web\n', ''])
    t.match(namespaceOf({ ...project, name }, rules('%n')), { refused: /is no DNS-1123 label/ }, name);
});

t.test('an operator may configure the namespace of one project', async (t) => {
  const written = rules('%i', { '3f': { namespace: 'shop' } });
  t.same(namespaceOf(project, written), { namespace: 'shop', configured: true });
  t.match(namespaceOf({ ...project, id: 'constructor' }, written), { namespace: 'constructor' });
});

t.test(
  'whatever the name of a project, its namespace is a label that is not reserved, or there is none',
  async () => {
    const format = fc.constantFrom('%n', '%i', 'p-%n', '%n-%d');
    fc.assert(
      fc.property(format, fc.string({ unit: 'binary' }), fc.string(), (namespaceFormat, name, id) => {
        const found = namespaceOf({ id, name, domainID: 'd' }, { namespaceFormat, projects: {} });
        if ('refused' in found) return true;
        const { namespace } = found;
        const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace);
        return label && namespace !== 'default' && !/^(kube-|stonegate(-|$))/.test(namespace);
      }),
    );
  },
);

t.test(
  'users see a namespace only if it is configured, or if Stonegate is certain to create it',
  async (t) => {
    const projects = { '4a': { namespace: 'shop' } };
    const told = (namespaceFormat: string, of: Partial<typeof project>, provision = 'onRequest') =>
      createProjectNamespace(bindingsSchema.parse({ namespaceFormat, projects, provision }))({
        ...project,
        ...of,
      });
    t.equal(told('%n', {}), 'web');
    t.equal(told('%n', {}, 'none'), undefined);
    t.equal(told('%n', { id: '4a' }, 'none'), 'shop', 'the operator names it');
    t.equal(told('%n', { name: 'My Project' }), undefined);
    t.equal(told('%n-%d', {}), 'web-d1');
  },
);

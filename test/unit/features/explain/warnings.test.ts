/** What `stonegate explain` warns of: resources that do not exist, and an index that is not current. */
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createWarnings } from '../../../../src/features/explain/warnings.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { namespacesSite } from '../../../support/namespaces-site.ts';
import { namespace } from '../../../support/rbac-objects.ts';

const mode = createSharedMode({ domains: {}, reservedNamePrefixes: [] });

interface Site {
  /** What discovery says of the resource. */
  readonly found?: { readonly namespaced: boolean } | StatusError | undefined;
  readonly isStale?: boolean;
  readonly hasIndex?: boolean;
}

async function warningsOn(target: string, site: Site = {}) {
  const { isStale = false, hasIndex = true } = site;
  const found = 'found' in site ? site.found : { namespaced: true };
  const namespaces = namespacesSite([namespace('web')]);
  if (isStale) namespaces.becomeStale();
  const warnings = createWarnings({
    mode,
    discovered: {
      async resource() {
        if (found instanceof StatusError) throw found;
        return found && { name: 'pods', kind: 'Pod', ...found };
      },
    },
    access: hasIndex ? namespaces.access : undefined,
  });
  return warnings(namespaces.outgoing('alice', target));
}

t.test('a request for existing resources has no warning', async (t) => {
  for (const target of ['/api/v1/namespaces/web/pods', '/api/v1/namespaces', '/api/v1/pods', '/version'])
    t.same(await warningsOn(target), [], target);
});

t.test('a resource that the API server does not have is named', async (t) => {
  t.same(await warningsOn('/api/v1/namespaces/web/podz', { found: undefined }), [
    'the API server has no resource "podz" in v1: a request that is allowed is a 404',
  ]);
  t.match(await warningsOn('/apis/example.com/v2/widgets', { found: undefined }), [/in example\.com\/v2/]);
});

t.test('a namespace that does not exist is named, if a current index knows it', async (t) => {
  const target = '/api/v1/namespaces/wbe/pods';
  t.same(await warningsOn(target), ['there is no namespace "wbe"']);
  t.same(await warningsOn(target, { isStale: true }), []);
  t.same(await warningsOn(target, { hasIndex: false }), []);
});

t.test('while the index is stale, a warning says that lists are not filtered, and why', async (t) => {
  for (const target of ['/api/v1/namespaces', '/api/v1/pods', '/api/v1/namespaces?watch=true']) {
    t.match(await warningsOn(target, { isStale: true }), [/^nothing is filtered at the moment.*no news/]);
  }
  t.same(await warningsOn('/api/v1/namespaces/web/pods', { isStale: true }), []);
});

t.test('if discovery cannot be read, there is no warning about the resource', async (t) => {
  const found = new StatusError('UpstreamUnavailable', 'down');
  t.same(await warningsOn('/api/v1/namespaces/web/pods', { found }), []);
});

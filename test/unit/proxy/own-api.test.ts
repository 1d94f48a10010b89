import t from 'tap';
import { OWN_QUOTAS } from '../../../src/features/quota/own-quota-v1alpha1.ts';
import { OWN_TEAMS } from '../../../src/features/teams/team-v1alpha1.ts';
import { createOwnAPI } from '../../../src/proxy/own-api.ts';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { ownAPIOf } from '../../support/own-api.ts';

const MODES = [
  createArktosMode({ systemTenant: 'system', domains: {} }),
  createSharedMode({ domains: {}, reservedNamePrefixes: [] }),
];
const V1 = '/apis/stonegate.dev/v1alpha1';

for (const mode of MODES) {
  const routeOf = (method: string, target: string) =>
    ownAPIOf().route(readRequestInfo(method, target, mode.facts), method, toTenantName('acme'));

  t.test(`${mode.name}: the identity of the user is read with GET or HEAD`, async (t) => {
    const route = { kind: 'own-api', resource: 'selfidentity', namespace: '', name: '' } as const;
    t.same(routeOf('GET', `${V1}/selfidentity`), route);
    t.same(routeOf('HEAD', `${V1}/selfidentity`), route);
    t.same(routeOf('GET', `${V1}/selfidentity?timeout=32s`), route);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'get'])
      t.throws(() => routeOf(method, `${V1}/selfidentity`), { code: 'MethodNotAllowed', http: 405 });
  });

  t.test(
    `${mode.name}: reviews of who can do something are posted, in the cluster or a namespace`,
    async (t) => {
      t.same(routeOf('POST', `${V1}/resourceaccessreviews`), {
        kind: 'own-api',
        resource: 'resourceaccessreviews',
        namespace: '',
        name: '',
      });
      t.same(routeOf('POST', `${V1}/namespaces/web/localresourceaccessreviews?dryRun=All`), {
        kind: 'own-api',
        resource: 'localresourceaccessreviews',
        namespace: 'web',
        name: '',
      });
      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH'])
        t.throws(() => routeOf(method, `${V1}/resourceaccessreviews`), { code: 'MethodNotAllowed' });
    },
  );

  t.test(`${mode.name}: without the index, resources that need it do not exist`, async (t) => {
    const ownAPI = ownAPIOf(false);
    const info = readRequestInfo('POST', `${V1}/resourceaccessreviews`, mode.facts);
    t.throws(() => ownAPI.route(info, 'POST', toTenantName('acme')), {
      code: 'NotFound',
      message: /need the RBAC index, which Stonegate's operator turns on with access\.index$/,
    });
    const unknown = readRequestInfo('POST', `${V1}/pods`, mode.facts);
    t.throws(() => ownAPI.route(unknown, 'POST', toTenantName('acme')), {
      message: /could not find the requested resource$/,
    });
    t.same(
      ownAPI.resources.map(({ name }) => name),
      ['selfidentity', 'explanations'],
    );
  });

  t.test(`${mode.name}: what is off says how the operator turns it on`, async (t) => {
    for (const [resource, message] of [
      [OWN_QUOTAS, /need quotas, which Stonegate's operator turns on with quota$/],
      [OWN_TEAMS, /are off: Stonegate's operator turns them on with the section members$/],
    ] as const) {
      const info = readRequestInfo('GET', `${V1}/${resource.name}`, mode.facts);
      const ownAPI = createOwnAPI([], [resource]);
      t.throws(() => ownAPI.route(info, 'GET', toTenantName('acme')), { code: 'NotFound', message });
    }
  });

  t.test(`${mode.name}: the discovery documents of the group are read-only`, async (t) => {
    for (const [path, document] of [
      ['/apis/stonegate.dev', 'group'],
      [V1, 'resources'],
      ['/openapi/v3/apis/stonegate.dev/v1alpha1', 'openapi'],
    ] as const) {
      t.same(routeOf('GET', path), { kind: 'own-discovery', document });
      t.throws(() => routeOf('POST', path), { code: 'MethodNotAllowed' });
    }
  });

  t.test(`${mode.name}: objects are listed, and read by name`, async (t) => {
    const quotas = createOwnAPI([OWN_QUOTAS]);
    const nameIn = (target: string, method = 'GET') => {
      const route = quotas.route(readRequestInfo(method, target, mode.facts), method, toTenantName('acme'));
      return route?.kind === 'own-api' ? route.name : undefined;
    };
    t.equal(nameIn(`${V1}/tenantquotas?limit=500`), '');
    t.equal(nameIn(`${V1}/tenantquotas?fieldSelector=metadata.name%3Dacme`), '');
    t.equal(nameIn(`${V1}/tenantquotas/acme`), 'acme');
    for (const path of [`${V1}/tenantquotas/acme/status`, `${V1}/tenantquotas/`, `${V1}/watch/tenantquotas`])
      t.throws(() => nameIn(path), { code: 'NotFound' }, path);
    t.throws(() => nameIn(`${V1}/tenantquotas?watch=true`), { code: 'MethodNotAllowed' });
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      t.throws(() => nameIn(`${V1}/tenantquotas/acme`, method), { code: 'MethodNotAllowed' }, method);
  });

  for (const path of [
    '/apis/stonegate.dev/v1',
    `${V1}/selfidentity/`,
    `${V1}/selfidentity/alice`,
    `${V1}/watch/selfidentity`,
    `${V1}/namespaces/default/selfidentity`,
    `${V1}/tenants/acme/selfidentity`,
    `${V1}/namespaces/web/resourceaccessreviews`,
    `${V1}/localresourceaccessreviews`,
    `${V1}/namespaces/web/localresourceaccessreviews/x`,
    `${V1}/namespaces/WEB/localresourceaccessreviews`,
    `${V1}/namespaces/w%20b/localresourceaccessreviews`,
    `${V1}/watch/namespaces/web/localresourceaccessreviews`,
    `${V1}/tenants/globex/namespaces/web/localresourceaccessreviews`,
  ])
    t.test(`${mode.name}: ${path} is a 404, and never sent to the API server`, async (t) => {
      for (const method of ['GET', 'POST'])
        t.throws(() => routeOf(method, path), { code: 'NotFound', http: 404 });
    });

  for (const path of [
    '/apis/stonegate.devices/v1alpha1/selfidentity',
    '/apis/Stonegate.dev/v1alpha1/selfidentity',
    '/api/v1/namespaces/stonegate.dev/pods',
    '/apis',
  ])
    t.test(`${mode.name}: ${path} is not Stonegate’s own`, async (t) =>
      t.equal(routeOf('GET', path), undefined),
    );
}

t.test('arktos: a review’s path may name the user’s own tenant', async (t) => {
  const [arktos, shared] = MODES;
  const routeIn = (mode: (typeof MODES)[number], target: string) =>
    ownAPIOf().route(readRequestInfo('POST', target, mode.facts), 'POST', toTenantName('acme'));
  const paths = [
    [`${V1}/tenants/acme/resourceaccessreviews`, ''],
    [`${V1}/tenants/acme/namespaces/web/localresourceaccessreviews`, 'web'],
  ] as const;
  for (const [path, namespace] of paths) {
    if (arktos) t.match(routeIn(arktos, path), { kind: 'own-api', namespace });
    if (shared) t.throws(() => routeIn(shared, path), { code: 'NotFound' });
  }
});

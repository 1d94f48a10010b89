import t from 'tap';
import { readRequestInfo } from '../../../src/pipeline/request-info.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { ownAPIRoute } from '../../../src/tenancy/own-api.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';

const MODES = [
  createArktosMode({ systemTenant: 'system', domains: {} }),
  createSharedMode({ domains: {}, reservedNamePrefixes: [] }),
];
const V1 = '/apis/stonegate.dev/v1alpha1';

for (const mode of MODES) {
  const routeOf = (method: string, target: string) =>
    ownAPIRoute(readRequestInfo(method, target, mode), method);

  t.test(`${mode.name}: who one is, is asked with GET or HEAD`, async (t) => {
    const route = { kind: 'own-api', resource: 'selfidentity' } as const;
    t.same(routeOf('GET', `${V1}/selfidentity`), route);
    t.same(routeOf('HEAD', `${V1}/selfidentity`), route);
    t.same(routeOf('GET', `${V1}/selfidentity?timeout=32s`), route);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'get'])
      t.throws(() => routeOf(method, `${V1}/selfidentity`), { code: 'MethodNotAllowed', http: 405 });
  });

  t.test(`${mode.name}: an explanation is posted`, async (t) => {
    t.same(routeOf('POST', `${V1}/explanations`), { kind: 'own-api', resource: 'explanations' });
    for (const method of ['GET', 'PUT', 'DELETE'])
      t.throws(() => routeOf(method, `${V1}/explanations`), { code: 'MethodNotAllowed' });
  });

  for (const path of [
    '/apis/stonegate.dev',
    '/apis/stonegate.dev/',
    '/apis/stonegate.dev/v1',
    V1,
    `${V1}/selfidentity/`,
    `${V1}/selfidentity/alice`,
    `${V1}/selfidentity/alice/status`,
    `${V1}/watch/selfidentity`,
    `${V1}/namespaces/default/selfidentity`,
    `${V1}/tenants/acme/selfidentity`,
    `${V1}/tenants/acme/explanations`,
    `${V1}/pods`,
    '/apis/stonegate.dev/v1/selfidentity',
  ]) {
    t.test(`${mode.name}: ${path} is nothing, and never the API server's`, async (t) => {
      for (const method of ['GET', 'POST'])
        t.throws(() => routeOf(method, path), { code: 'NotFound', http: 404 });
    });
  }

  for (const path of [
    '/apis/stonegate.devices/v1alpha1/selfidentity',
    '/apis/x.stonegate.dev/v1alpha1/selfidentity',
    '/apis/Stonegate.dev/v1alpha1/selfidentity',
    '/api/v1/namespaces/stonegate.dev/pods',
    '/apis',
    '/version',
  ]) {
    t.test(`${mode.name}: ${path} is not Stonegate’s own`, async (t) => {
      t.equal(routeOf('GET', path), undefined);
    });
  }
}
